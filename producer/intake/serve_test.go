package intake

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"footfall/configs"
	"footfall/producer/admission"
)

// TestServeTellsWhoIsLeft: serve reports whether a request still runs, so that nothing is closed that it may use.
func TestServeTellsWhoIsLeft(t *testing.T) {
	f := func(stuck, want bool) {
		t.Helper()
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		inside, end := make(chan struct{}), make(chan struct{})
		defer close(end)
		routes := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(inside)
			if stuck {
				<-end
			}
		})
		d := &server{cfg: configs.Producer{}, log: slog.New(slog.DiscardHandler), access: &admission.Access{Open: true}}
		d.cfg.Kafka.Timeout = time.Millisecond
		idle, err := d.serve(ctx, l, nil, routes, func(addr, _ string) {
			go func() {
				if r, err := http.Get("http://" + addr); err == nil { // the stuck one gets no answer
					_ = r.Body.Close()
				}
			}()
			<-inside
			stop()
		})
		if err != nil || idle != want {
			t.Errorf("stuck %t: idle %t, %v", stuck, idle, err)
		}
	}
	f(false, true)
	f(true, false)
}
