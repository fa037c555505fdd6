package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"footfall/deployments/e2e/load"
)

// What cannot be counted is put aside with its reason and origin. It is not counted, and it holds nobody up.
func TestDeadLetters(t *testing.T) {
	d := newReal(t, 1)
	visits := d.topics[1]
	const n = 400
	before, after := load.Make(7, n), load.Make(8, n)
	want, _ := send(t, d, before, load.Order(7, n), nil)

	ends, err := d.ends(t.Context(), visits)
	if err != nil {
		t.Fatal(err)
	}
	all := letters(len(ends))
	origin := make([]string, len(all))
	for i, g := range all {
		partition := g.partition
		if partition < 0 {
			partition = murmur2(g.key, len(ends))
		}
		origin[i] = d.produce(t, visits, partition, g.key, g.value)
	}
	send(t, d, after, load.Order(8, n), nil)
	for _, e := range after {
		e.Tell(want)
	}
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))

	dead := d.deadLetters(t)
	for i, g := range all {
		m, ok := dead[origin[i]]
		if !ok {
			t.Errorf("%s: no dead letter from %s", g.name, origin[i])
			continue
		}
		if got := header(m, "reason"); got != g.reason {
			t.Errorf("%s: reason %q (%s), want %q", g.name, got, header(m, "detail"), g.reason)
		}
		if truncated := header(m, "truncated"); truncated != "" {
			if !strings.HasPrefix(g.value, string(m.Value)) || truncated != fmt.Sprint(len(g.key)+len(g.value)) {
				t.Errorf("%s: cut to %d bytes, and it says that it had %s", g.name, len(m.Value), truncated)
			}
		} else if !bytes.Equal(m.Value, []byte(g.value)) || string(m.Key) != g.key {
			t.Errorf("%s: the dead letter has other bytes than the message", g.name)
		}
	}
	if len(dead) != len(all) {
		t.Errorf("%d dead letters, want %d", len(dead), len(all))
	}
}
