package models_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"footfall/models"
	"footfall/models/modelstest"
)

// tables are the fields of clicks and visits, with how to read a message.
var tables = []struct {
	of     string
	fields []models.Field
	read   func([]byte) (models.Event, error)
}{
	{"click", models.ClickFields, func(data []byte) (models.Event, error) { return models.UnmarshalClick(data, true) }},
	{"visit", models.DefaultPlan().Fields(), func(data []byte) (models.Event, error) { return models.DefaultPlan().UnmarshalVisit(data, true) }},
}

// Every declared field is read, by the fast path too, and written again as it was: alone, and beside all others.
func TestCodecsKnowEveryField(t *testing.T) {
	for _, table := range tables {
		messages := [][]byte{modelstest.Message(table.fields)}
		for i := range table.fields {
			messages = append(messages, modelstest.Message(table.fields[i:i+1]))
		}
		for i, data := range messages {
			if click, visit := models.Agree(t, data); table.of == "click" && !click || table.of == "visit" && !visit {
				t.Errorf("the fast path reads no %s from %s", table.of, data)
			}
			event, err := table.read(data)
			if err != nil {
				t.Errorf("%s: %v", data, err)
				continue
			}
			models.SameBytes(t, event)
			text, _ := models.AppendEvent(nil, event)
			if i == 0 && (string(text) != string(data) || event.Validate() != nil) || !bytes.Contains(text, data[1:len(data)-1]) {
				t.Errorf("%s becomes %s, which is valid: %v", data, text, event.Validate())
			}
		}
	}
}

// What an event is worth depends on the fields that say so, and on no other.
func TestCountersDependOnFields(t *testing.T) {
	for _, table := range tables {
		for i, f := range table.fields {
			others := slices.Clone(table.fields)
			switch {
			case !f.Required:
				others = slices.Delete(others, i, i+1)
			case f.Type == "string":
				others[i].Example = `"another"`
			default:
				others[i].Example += "0"
			}
			bot := "bot" // a bot's click counts nowhere else
			if f.Name == bot {
				bot = ""
			}
			with, without := worth(t, table.read, modelstest.Message(table.fields, bot)), worth(t, table.read, modelstest.Message(others, bot))
			if counted := !reflect.DeepEqual(with, without); counted != f.Counted {
				t.Errorf("%s: an event's worth depends on it: %v, its declaration says %v", f.Name, counted, f.Counted)
			}
		}
	}
}

// worth is what an event looks up and adds to.
func worth(t *testing.T, read func([]byte) (models.Event, error), data []byte) any {
	t.Helper()
	event, err := read(data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	cells := modelstest.Cells{}
	event.Count(modelstest.Seen{}.First(event), cells.Add)
	return []any{cells, event.Sightings()}
}
