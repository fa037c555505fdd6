package cql

import (
	"bytes"
	"testing"
	"time"
)

// A key of one column is its bytes alone; each of several has its length before it and a zero after it.
func TestKeysAsOnTheWire(t *testing.T) {
	at, moment := time.UnixMilli(1<<40), []byte{0, 0, 1, 0, 0, 0, 0, 0}
	f := func(want []byte, values ...any) {
		t.Helper()
		if got := AppendKey([]byte("before"), values...); !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Errorf("%v is %v, want %v", values, got, want)
		}
	}
	f([]byte("abc"), "abc")
	f(nil, "")
	f(moment, at)
	f(append(append([]byte{0, 1, 'a', 0, 0, 8}, moment...), 0), "a", at)
}
