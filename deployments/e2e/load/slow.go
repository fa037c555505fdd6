package load

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Slow opens n connections to addr that promise much and send a byte a second, half of them within the header and half
// within the body, until ctx ends. One that the door closes is opened again. It returns how many were opened, ever; wait
// returns when all are closed.
func Slow(ctx context.Context, addr string, n int) (opened *atomic.Int64, wait func()) {
	var all sync.WaitGroup
	opened = &atomic.Int64{}
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				if err != nil {
					continue
				}
				opened.Add(1)
				trickle(ctx, conn, i%2 == 0)
				_ = conn.Close() // it is of no use to anybody any more
			}
		})
	}
	return opened, all.Wait
}

func trickle(ctx context.Context, conn net.Conn, inBody bool) {
	begin := "POST /v1/visits HTTP/1.1\r\nHost: x\r\nX-Slow: "
	if inBody {
		begin = "POST /v1/visits HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n["
	}
	_, err := io.WriteString(conn, begin)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
			_, err = io.WriteString(conn, " ")
		}
	}
}
