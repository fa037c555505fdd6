package models

import (
	"encoding/binary"
	"hash/fnv"
)

// TimeUUID is a UUID of version 1: it sorts by the time in it.
type TimeUUID [16]byte

// LatestClick is one row of latestclicks, which keeps single clicks for a while.
type LatestClick struct {
	ShortURL string
	Day      Millis
	At       TimeUUID
	TS       Millis
	Country  string
	Referrer string
	IP       string // as the event has it: a hash if the producer hashes addresses
	Bot      bool
	ID       string
}

// Latest is the row of the click at a position. A replay makes the same row again.
func (c *Click) Latest(at Position) LatestClick {
	from := c.Country
	if from == "" {
		from = UnknownCountry
	}
	return LatestClick{
		ShortURL: c.ShortURL, Day: c.TS.Day(), At: timeUUID(c.TS, at), TS: c.TS,
		Country: from, Referrer: c.Referrer, IP: c.IP, Bot: c.Bot, ID: c.ID,
	}
}

// timeUUID makes a UUID of an event's time and position: the partition takes the place of the clock sequence, the offset that of the machine's
// address. No two events of a topic share one. The ticks within the millisecond are a hash of the topic.
func timeUUID(ts Millis, at Position) TimeUUID {
	const (
		epoch     = 12_219_292_800_000 // milliseconds from October 1582 to 1970
		perMillis = 10_000
	)
	topic := fnv.New32a()
	_, _ = topic.Write([]byte(at.Topic)) // a hash never fails
	ticks := uint64(ts+epoch)*perMillis + uint64(topic.Sum32()%perMillis)

	var u TimeUUID
	binary.BigEndian.PutUint32(u[0:], uint32(ticks))
	binary.BigEndian.PutUint16(u[4:], uint16(ticks>>32))
	binary.BigEndian.PutUint16(u[6:], uint16(ticks>>48)&0x0fff|0x1000) // version 1
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], uint64(at.Offset)&(1<<48-1))
	copy(u[8:], place[:])
	binary.BigEndian.PutUint16(u[8:], uint16(at.Partition)&0x3fff|0x8000) // the variant
	return u
}
