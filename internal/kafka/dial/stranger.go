package dial

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"

	"footfall/configs"
)

// largestAnswer is larger than any answer of a broker: it keeps socket.request.max.bytes, and what a fetch asks for, below.
const largestAnswer = 256 << 20

// careful dials by dial and refuses a server that is no Kafka. kafka-go would take the first four bytes of whatever it says for the length of an
// answer, and make room for it: "HTTP" are a gigabyte.
func careful(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &examined{Conn: conn, at: address}, nil
	}
}

// examined is a connection whose first answer is looked at.
type examined struct {
	net.Conn
	at    string
	begin [4]byte
	got   int
}

// Read implements net.Conn. As of any net.Conn, one goroutine reads.
func (e *examined) Read(to []byte) (int, error) {
	n, err := e.Conn.Read(to)
	if e.got < len(e.begin) {
		e.got += copy(e.begin[e.got:], to[:n])
		if e.got == len(e.begin) && binary.BigEndian.Uint32(e.begin[:]) > largestAnswer {
			return 0, configs.MarkWrong(fmt.Errorf("what answers at %s is no Kafka: it says %q. See kafka.brokers", e.at, e.begin))
		}
	}
	return n, err
}
