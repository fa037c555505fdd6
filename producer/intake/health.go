package intake

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/producer/answer"
)

const (
	readyTimeout = 2 * time.Second
	readyFor     = time.Second // how long a result stands, so that eager probes do not become load on Kafka
)

// state is the body of the health answers.
type state struct {
	Status string `json:"status"`
}

// alive is /healthz: the process serves. Kafka being away is no reason to restart it.
func alive(w http.ResponseWriter, _ *http.Request) { answer.JSON(w, http.StatusOK, state{"ok"}) }

// ready is /readyz: events can be taken right now.
func (d *door) ready(w http.ResponseWriter, _ *http.Request) {
	if err := d.kafka.check(); err != nil {
		answer.Refuse(w, &answer.Refusal{Reason: answer.KafkaUnavailable, Detail: "the log says why"}, "")
		return
	}
	answer.JSON(w, http.StatusOK, state{"ready"})
}

// readiness asks Kafka whether the topics can be written to, at most once in readyFor. It is safe for concurrent use:
// who comes while it is asking waits for the same answer.
type readiness struct {
	via   dial.Kafka
	names func() []string
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	err     error
}

func (r *readiness) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.checked) < readyFor {
		return r.err
	}
	// Not the request's context: a probe that gives up early must not leave its own error to the next.
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	before := r.err
	r.err = topics.Check(ctx, r.via, r.names())
	r.checked = time.Now()
	if r.err != nil && before == nil {
		r.log.Warn("not ready", "error", r.err)
	}
	return r.err
}
