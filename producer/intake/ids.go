package intake

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/google/uuid"
)

// newID makes an id for an event that came without: a UUID of version 7, which is its millisecond and 74 random bits.
func newID(now time.Time) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16)
	r := chance.Get().(*randomness)
	r.read(id[6:])
	chance.Put(r)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// randomness is asked of the system for many ids at a time. Nobody may use one at the same time as another.
type randomness struct {
	bytes [1024]byte
	left  int
}

var chance = sync.Pool{New: func() any { return &randomness{} }}

func (r *randomness) read(into []byte) {
	if r.left < len(into) {
		_, _ = rand.Read(r.bytes[:]) // never fails
		r.left = len(r.bytes)
	}
	r.left -= copy(into, r.bytes[r.left-len(into):r.left])
}
