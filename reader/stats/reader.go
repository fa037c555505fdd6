package stats

import (
	"sync"
	"sync/atomic"
	"time"

	"footfall/models"
)

// Limits of one question.
const (
	// MaxRanked is how many values Top ranks.
	MaxRanked = 10_000
	// MaxRankedBytes is how long they may be together: many may ask at once.
	MaxRankedBytes = 1 << 20
	// MaxMonths is how many months of a site a series may span: each is a partition.
	MaxMonths = 120
)

// Reader answers questions. Besides the store's errors, its methods return *NotKept, *NotAligned, *Malformed and *TooMuch; a sequence
// returns errors of the store only. It is safe for concurrent use.
type Reader struct {
	store          Store
	clicks, visits string // topics
	now            func() time.Time
	last           atomic.Pointer[rare]
	partitions     sync.Map // of Kafka topics, by name: int
}

// New makes a Reader. clicks and visits are the topics' names in the configuration.
func New(store Store, clicks, visits string) *Reader {
	return &Reader{store: store, clicks: clicks, visits: visits, now: time.Now}
}

// Plan is what is kept of visits.
func (r *Reader) Plan() *models.Plan { return r.store.Plan() }
