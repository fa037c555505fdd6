package store

import "fmt"

// Tail is the last message of a partition that was counted, the one before Offset. If the log has another message there, it is
// another log. Sum is a fingerprint of the message's key and value. The zero Tail: not known.
type Tail struct {
	Offset int64
	Sum    string
}

// String is the form in which stores keep it.
func (t Tail) String() string { return fmt.Sprintf("%d %s", t.Offset, t.Sum) }

// ReadTail reads what String wrote; the zero Tail if it is empty.
func ReadTail(text string) (t Tail, err error) {
	if text == "" {
		return t, nil
	}
	if _, err := fmt.Sscanf(text, "%d %s", &t.Offset, &t.Sum); err != nil {
		return Tail{}, fmt.Errorf("reading the last event %q: %w", text, err)
	}
	return t, nil
}
