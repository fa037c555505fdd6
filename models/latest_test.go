package models

import (
	"encoding/hex"
	"testing"
)

func TestTimeUUID(t *testing.T) {
	ts := at(t, "2018-10-01T14:05:06.789")
	place := Position{Topic: "clicks", Partition: 5, Offset: 0x123456789abc}
	c := &Click{ShortURL: "abc", IP: "203.0.113.7", TS: ts, ID: "id", Referrer: "r"}
	row := c.Latest(place)
	if row != c.Latest(place) {
		t.Error("the same event has a different row the second time")
	}
	u := row.At
	if u[6]>>4 != 1 || u[8]>>6 != 2 {
		t.Errorf("%s: version %d, variant %d", hex.EncodeToString(u[:]), u[6]>>4, u[8]>>6)
	}
	ticks := (uint64(u[6]&0x0f)<<8|uint64(u[7]))<<48 | (uint64(u[4])<<8|uint64(u[5]))<<32 |
		uint64(u[0])<<24 | uint64(u[1])<<16 | uint64(u[2])<<8 | uint64(u[3])
	if got := Millis(ticks/10_000) - 12_219_292_800_000; got != ts {
		t.Errorf("its time is %v, want %v", got.Time(), ts.Time())
	}
	if got := hex.EncodeToString(u[8:]); got != "8005123456789abc" {
		t.Errorf("its clock sequence and node are %s, want partition 5 and the offset", got)
	}
	if row.Country != UnknownCountry || row.Day != ts.Day() {
		t.Errorf("%+v", row)
	}

	seen := map[TimeUUID]Position{u: place}
	for _, other := range []Position{
		{"clicks", 5, 0x123456789abb}, {"clicks", 4, 0x123456789abc}, {"clicks2", 5, 0x123456789abc}, {"clicks", 5, 0}, {"clicks", 0, 5},
	} {
		id := c.Latest(other).At
		if same, twice := seen[id]; twice {
			t.Errorf("%v and %v share an id", same, other)
		}
		seen[id] = other
	}
}
