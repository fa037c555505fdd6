package memstore_test

import (
	"context"
	"testing"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/consumer/store/storetest"
	"footfall/models"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) (store.Store, storetest.Reader) {
		m := memstore.New()
		return m, func(_ context.Context, key models.Key, cell models.Cell) (int64, bool, error) {
			value, found := m.Counters[key][cell]
			return value, found, nil
		}
	})
}

func TestLists(t *testing.T) {
	m := memstore.New()
	storetest.RunLists(t, m, lists{m})
}

type lists struct{ m *memstore.Memory }

// Names implements storetest.Lists.
func (l lists) Names(_ context.Context, of models.Name) (values []string, _ error) {
	bucket := of.Bucket()
	for n := range l.m.Names {
		value := n.Value
		if n.Value = of.Value; n == of && (models.Name{List: of.List, Value: value}).Bucket() == bucket {
			values = append(values, value)
		}
	}
	return values, nil
}

// Progress implements storetest.Lists.
func (l lists) Progress(_ context.Context, p models.Partition) (store.Progress, bool, error) {
	row, found := l.m.Noted[p]
	return row, found, nil
}
