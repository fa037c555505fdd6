package replay

import (
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/models"
)

// fate decides what becomes of a letter. why is set if it is invalid.
func (r *replayer) fate(l deadletters.Letter) (fate deadletters.Fate, mended deadletters.Mended, why *models.Invalid) {
	if _, sent := r.ledger.sent[l.Origin]; sent {
		return deadletters.Before, mended, nil
	}
	if r.isCarried(l) {
		return deadletters.Carried, mended, nil
	}
	if r.ledger.places[l.Origin] && !r.options.Again {
		return deadletters.Again, mended, nil
	}
	if r.doubtful[l.Origin] && !r.options.Doubtful {
		return deadletters.Doubtful, mended, nil
	}
	if r.isCounted(l) {
		return deadletters.Counted, mended, nil
	}
	mended, why = r.mender.Mend(l, time.Now())
	switch {
	case why != nil:
		return deadletters.Invalid, mended, why
	case r.options.Limit > 0 && r.tally.Fates[deadletters.Send] >= r.options.Limit:
		return deadletters.Rest, mended, nil
	}
	return deadletters.Send, mended, nil
}

// isCarried tells whether consumer grow copies the letter's event to the next generation, or has done so. Sent again, it would be there twice.
func (r *replayer) isCarried(l deadletters.Letter) bool {
	carried, sealed := r.carried[l.Origin.Topic]
	return sealed && carried.Has(kafka.Message{Topic: l.Origin.Topic, Partition: l.Origin.Partition, Offset: l.Origin.Offset, Key: l.Key, Value: l.Value})
}

// isCounted tells whether consumers count the event of a letter by which they refused it: tables were restored from before a retirement, and what
// they know of now does not refuse the event where it lies. Sent again, it would count twice.
func (r *replayer) isCounted(l deadletters.Letter) bool {
	base, _ := models.SplitGeneration(l.Origin.Topic)
	decode := r.Bases()[base]
	if l.Reason != models.ReasonIntervalRetired || decode == nil {
		return false
	}
	event, err := decode(l.Value)
	at := models.Partition{Topic: l.Origin.Topic, Number: l.Origin.Partition}
	return err == nil && r.retired.Refuse(at, l.Origin.Offset, event) == nil
}
