package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"footfall/models"
	"footfall/producer/answer"
)

// isArray tells whether JSON text is an array, from its beginning.
func isArray(beginning []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(beginning, " \t\r\n"), []byte("["))
}

// splitArray cuts a JSON array into its elements. One that is not JSON spoils the array, since nobody can tell where the
// next begins; one that is no event does not.
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
	return &models.Invalid{Reason: models.ReasonBadJSON, Detail: "nothing of the array was taken: " + models.Excerpt(err.Error())}
}

// splitLines cuts NDJSON into its lines, without empty ones.
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

// result is what became of one event of a batch. Fields are those of a single event's answer.
type result struct {
	Index  int    `json:"index"`
	Status int    `json:"status"`
	ID     string `json:"id,omitempty"`
	Error  string `json:"error,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// append writes a result as encoding/json does: a batch has a thousand.
func (r result) append(to []byte) []byte {
	to = strconv.AppendInt(append(to, `{"index":`...), int64(r.Index), 10)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(r.Status), 10)
	if r.ID != "" {
		to = models.AppendText(append(to, `,"id":`...), r.ID)
	}
	if r.Error != "" {
		to = models.AppendText(append(to, `,"error":`...), r.Error)
	}
	if r.Detail != "" {
		to = models.AppendText(append(to, `,"detail":`...), r.Detail)
	}
	return append(to, '}')
}

// batchDetails is how many bytes of details the answer to a batch has. A sender that makes one mistake a thousand times needs
// to be told what it is once; the reason is in every result.
const batchDetails = 16 << 10

// answerBatch says what became of each event: 202 if all are in Kafka, else 207. There is one result for each event, in the
// order of the batch.
func (d *door) answerBatch(w http.ResponseWriter, outcomes []outcome) {
	status, wait, details := http.StatusAccepted, time.Duration(0), 0
	text := append(make([]byte, 0, 80*(len(outcomes)+1)), `{"results":[`...)
	for i, o := range outcomes {
		one := result{Index: i, Status: http.StatusAccepted, ID: o.id}
		if o.err != nil {
			status = http.StatusMultiStatus
			why := d.count(o.err)
			one.Status, one.Error = why.Status(), why.Reason
			if details += len(why.Detail); details <= batchDetails {
				one.Detail = why.Detail
			}
			wait = max(wait, why.RetryAfter())
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = one.append(text)
	}
	answer.SetRetryAfter(w.Header(), wait)
	until := time.Now().Add(answerGrace + time.Duration(len(text))*time.Second/largeRate)
	_ = http.NewResponseController(w).SetWriteDeadline(until) // a test's writer has none
	answer.Text(w, status, append(text, ']', '}'))
}
