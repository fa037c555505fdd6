package eventlog

import "footfall/models"

// Counted is an event that is no duplicate, where it stands, and which of its sightings it is the first of.
type Counted struct {
	Partition models.Partition
	Offset    int64
	Event     models.Event
	First     []bool
}

// Position is where in the log the event stands.
func (e *Counted) Position() models.Position {
	return models.Position{Topic: e.Partition.Topic, Partition: e.Partition.Number, Offset: e.Offset}
}

// Decide answers the event's sightings from where each visitor was first.
func (e *Counted) Decide(first map[models.Sighting]models.Position) {
	e.First = e.First[:0]
	for _, s := range e.Event.Sightings() {
		e.First = append(e.First, first[s] == e.Position())
	}
}
