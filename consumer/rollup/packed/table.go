package packed

import (
	"slices"
	"strings"
	"unsafe"

	"footfall/models"
)

// table has each of the texts once. A text's number is its place.
type table struct {
	numbers map[string]uint32
	all     []string
	bytes   int
}

// perText is about what a text takes besides its bytes: a place in the list, and one in the map, of which a third is empty.
const perText = 56

func newTable() table { return table{numbers: map[string]uint32{}} }

// number returns the text's number. A new text is copied: it may be part of something larger.
func (t *table) number(text string) uint64 {
	n, known := t.numbers[text]
	if !known {
		n, text = uint32(len(t.all)), strings.Clone(text)
		t.numbers[text] = n
		t.all = append(t.all, text)
		t.bytes += perText + len(text)
	}
	return uint64(n)
}

// agents has each agent once, as a table has texts: a click has one number for all its names.
type agents struct {
	numbers map[models.Agent]uint32
	all     []models.Agent
	bytes   int
}

// perAgent is about what an agent takes besides the bytes of its names.
const perAgent = perText + 2*int(unsafe.Sizeof(models.Agent{}))

func (t *agents) number(a models.Agent) uint64 {
	n, known := t.numbers[a]
	if !known {
		n = uint32(len(t.all))
		t.bytes += perAgent
		for _, name := range a.Names() {
			*name = strings.Clone(*name)
			t.bytes += len(*name)
		}
		t.numbers[a] = n
		t.all = append(t.all, a)
	}
	return uint64(n)
}

// number returns the place of a value in a short list, and adds it if it is new.
func number[T comparable](list *[]T, value T) int {
	i := slices.Index(*list, value)
	if i < 0 {
		i = len(*list)
		*list = append(*list, value)
	}
	return i
}

// bits are what is decided of the events of a block, one list after the other.
type bits struct {
	lengths []byte // an event has 192 sightings at most
	packed  []byte
	n       int
}

func (b *bits) append(list []bool) {
	b.lengths = append(b.lengths, byte(len(list)))
	for _, yes := range list {
		if b.n%8 == 0 {
			b.packed = append(b.packed, 0)
		}
		if yes {
			b.packed[b.n/8] |= 1 << (b.n % 8)
		}
		b.n++
	}
}

// reader reads the lists in order.
func (b *bits) reader() bitReader { return bitReader{bits: b} }

type bitReader struct {
	*bits
	event, at int
}

// next appends the next list to out.
func (r *bitReader) next(out []bool) []bool {
	for range r.lengths[r.event] {
		out = append(out, r.packed[r.at/8]&(1<<(r.at%8)) != 0)
		r.at++
	}
	r.event++
	return out
}
