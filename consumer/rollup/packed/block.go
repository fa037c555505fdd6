package packed

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// block has some of the events, one after the other:
//
//	flags, version, partition, offset, time, name, visitor, id if it is kept,
//	plan, and of a click: country, referrer, amount and agent if it has them; of a visit: number of features, features.
//
// Numbers are varints. Offsets and times are differences to those before them in the block. A text that repeats is its number in the table, and
// so is an agent, a visitor or an id is its length and its bytes. Strings that a block hands out share its memory, which is never written again.
type block struct {
	text  strings.Builder // never grows, or what was handed out would keep two copies in memory
	n     int
	cost  int // of its events, see Events.Cost
	first bits
	last  state
}

// state is what the next event differs from.
type state struct {
	offsets []int64 // by partition
	ts      models.Millis
}

// The flags.
const (
	isVisit = 1 << iota
	isBot
	hasAmount
	hasAgent
)

const (
	smallest, largest = 4 << 10, 64 << 10 // of a block: chunks under light load are small
	numbers           = (9 + models.MaxFeatures) * binary.MaxVarintLen64
	perEvent          = 3 // bytes for what is decided: the length, and a bit for each sighting
)

// room is the most bytes that an event takes.
func room(event models.Event) int {
	id := event.Identity()
	more := 0
	if v, ok := event.(*models.Visit); ok {
		more = max(0, len(v.Features)-models.MaxFeatures) * binary.MaxVarintLen64
	}
	return numbers + len(id.ID) + len(id.Visitor) + more
}

// newBlock makes the i-th block of a list, with room for the event.
func newBlock(i int, event models.Event) *block {
	b := &block{}
	b.text.Grow(max(min(smallest<<min(i, 8), largest), room(event)))
	return b
}

func (b *block) decided() bool { return b.first.lengths != nil }

func (b *block) fits(event models.Event) bool { return b.text.Cap()-b.text.Len() >= room(event) }

// offset is the last offset of a partition, to be read and changed.
func (s *state) offset(partition int) *int64 {
	for len(s.offsets) <= partition {
		s.offsets = append(s.offsets, 0)
	}
	return &s.offsets[partition]
}

func (b *block) add(sh *shared, p models.Partition, offset int64, event models.Event) {
	c, click := event.(*models.Click)
	v, _ := event.(*models.Visit)
	flags, version, ts, plan, said := byte(0), 0, models.Millis(0), (*models.Plan)(nil), models.Agent{}
	switch {
	case !click:
		flags, version, ts, plan = isVisit, v.V, v.TS, v.Plan
	default:
		version, ts, plan, said = c.V, c.TS, c.Plan, c.Agent
		if c.Bot {
			flags |= isBot
		}
		if c.Amount != nil {
			flags |= hasAmount
		}
		if said != (models.Agent{}) {
			flags |= hasAgent
		}
	}
	var space [numbers]byte
	partition, id := number(&sh.partitions, p), event.Identity()
	last := b.last.offset(partition)
	to := append(space[:0], flags)
	to = binary.AppendUvarint(to, uint64(version))
	to = binary.AppendUvarint(to, uint64(partition))
	to = binary.AppendVarint(to, offset-*last)
	to = binary.AppendVarint(to, int64(ts-b.last.ts))
	to = binary.AppendUvarint(to, sh.texts.number(id.Name))
	to = b.put(to, id.Visitor)
	if sh.ids {
		to = b.put(to, id.ID)
	}
	to = binary.AppendUvarint(to, uint64(number(&sh.plans, plan)))
	if click {
		to = binary.AppendUvarint(to, sh.texts.number(c.Country))
		to = binary.AppendUvarint(to, sh.texts.number(c.Referrer))
		if c.Amount != nil {
			to = binary.AppendVarint(to, *c.Amount)
		}
		if flags&hasAgent != 0 {
			to = binary.AppendUvarint(to, sh.agents.number(said))
		}
	} else {
		to = binary.AppendUvarint(to, uint64(len(v.Features)))
		for _, f := range v.Features {
			to = binary.AppendUvarint(to, sh.texts.number(f))
		}
	}
	b.text.Write(to)
	*last, b.last.ts = offset, ts
	b.n++
}

// put writes what is in to, and a text. It returns an empty to.
func (b *block) put(to []byte, text string) []byte {
	b.text.Write(binary.AppendUvarint(to, uint64(len(text))))
	b.text.WriteString(text)
	return to[:0]
}

// scratch is the memory that all events are handed out in.
type scratch struct {
	one    eventlog.Counted
	click  models.Click
	visit  models.Visit
	amount int64
	first  []bool // not nil: so that an event of no sightings, such as a bot's, can be told from one that is not decided
}

func newScratch() *scratch { return &scratch{first: []bool{}} }

// all yields the events.
func (b *block) all(sh *shared, s *scratch) iter.Seq[*eventlog.Counted] {
	return func(yield func(*eventlog.Counted) bool) {
		r, last, decided := reader{text: b.text.String()}, state{}, b.first.reader()
		for range b.n {
			r.event(sh, &last, s)
			if s.one.First = nil; b.decided() {
				s.first = decided.next(s.first[:0])
				s.one.First = s.first
			}
			if !yield(&s.one) {
				return
			}
		}
	}
}

// reader reads a block.
type reader struct {
	text string
	at   int
}

// event reads the next event into s.
func (r *reader) event(sh *shared, last *state, s *scratch) {
	flags := r.text[r.at]
	r.at++
	version, partition := int(r.uvarint()), int(r.uvarint())
	offset := last.offset(partition)
	*offset += r.varint()
	last.ts += models.Millis(r.varint())
	name, visitor, id := sh.texts.all[r.uvarint()], r.take(), ""
	if sh.ids {
		id = r.take()
	}
	s.one.Partition, s.one.Offset = sh.partitions[partition], *offset
	plan := sh.plans[r.uvarint()]
	if flags&isVisit != 0 {
		features := slices.Grow(s.visit.Features[:0], models.MaxFeatures)
		for range r.uvarint() {
			features = append(features, sh.texts.all[r.uvarint()])
		}
		s.visit = models.Visit{V: version, ID: id, SiteID: name, GUID: visitor, TS: last.ts, Features: features, Plan: plan}
		s.one.Event = &s.visit
		return
	}
	s.click = models.Click{V: version, ID: id, ShortURL: name, IP: visitor, TS: last.ts, Bot: flags&isBot != 0, Plan: plan,
		Country: sh.texts.all[r.uvarint()], Referrer: sh.texts.all[r.uvarint()]}
	if flags&hasAmount != 0 {
		s.amount = r.varint()
		s.click.Amount = &s.amount
	}
	if flags&hasAgent != 0 {
		s.click.Agent = sh.agents.all[r.uvarint()]
	}
	s.one.Event = &s.click
}

// take reads a text.
func (r *reader) take() string {
	n := int(r.uvarint())
	r.at += n
	return r.text[r.at-n : r.at]
}

// uvarint is binary.Uvarint of a string.
func (r *reader) uvarint() (x uint64) {
	for shift := 0; ; shift += 7 {
		c := r.text[r.at]
		r.at++
		if x |= uint64(c&0x7f) << shift; c < 0x80 {
			return x
		}
	}
}

func (r *reader) varint() int64 {
	x := r.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}
