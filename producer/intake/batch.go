package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"footfall/models"
	"footfall/producer/answer"
)

// splitArray splits a JSON array into its elements. If one of them is not JSON the whole array is refused, since nobody can tell
// where the next begins. An element that is JSON but no event is refused by itself, later.
func splitArray(body []byte, most int) ([][]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil, badArray(err)
	}
	var elements [][]byte
	for d.More() {
		if len(elements) == most {
			return nil, tooMany(most)
		}
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return nil, badArray(err)
		}
		if elements = append(elements, element); len(elements)%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, badArray(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badArray(errors.New("more than one value"))
	}
	return elements, nil
}

func badArray(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &models.Invalid{Reason: models.ReasonBadJSON, Detail: "no event of the array was taken: " + models.Excerpt(err.Error())}
}

// splitLines splits NDJSON into its lines, without empty ones.
func splitLines(body []byte, most int) ([][]byte, error) {
	var lines [][]byte
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(lines) == most {
			return nil, tooMany(most)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func tooMany(most int) error {
	return &answer.Refusal{Reason: answer.TooManyEvents, Detail: fmt.Sprintf("at most %d events in a batch", most)}
}
