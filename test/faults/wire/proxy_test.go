package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// echo stands in for Cassandra: it answers every frame with itself.
func echo(t *testing.T) string {
	return serve(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
}

func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				answer(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func request(stream uint16, opcode byte, body ...byte) []byte {
	f := make([]byte, headerSize, headerSize+len(body))
	f[0], f[4] = 4, opcode
	binary.BigEndian.PutUint16(f[2:], stream)
	binary.BigEndian.PutUint32(f[5:], uint32(len(body)))
	return append(f, body...)
}

func connect(t *testing.T) (*Proxy, net.Conn) { return connectTo(t, echo(t)) }

func connectTo(t *testing.T, target string) (*Proxy, net.Conn) {
	t.Helper()
	p, err := New("127.0.0.1:0", target, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	conn, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return p, conn
}

func exchange(t *testing.T, conn net.Conn, f []byte) error {
	t.Helper()
	if _, err := conn.Write(f); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(f))
	_, err := io.ReadFull(conn, got)
	return err
}

func TestTheTriggerCountsOneKindOfOneFlush(t *testing.T) {
	p, conn := connect(t)
	send := func(opcode byte, body ...byte) {
		t.Helper()
		if err := exchange(t, conn, request(7, opcode, body...)); err != nil {
			t.Fatal(err)
		}
	}
	send(opBatch, byte(Counters))
	unanswered := -1
	done := p.During(Counters, 2, func(n int) { unanswered = n })
	fired := func(patience time.Duration) bool {
		select {
		case <-done:
			return true
		case <-time.After(patience):
			return false
		}
	}
	const moment = 20 * time.Millisecond
	send(opBatch, byte(Counters)) // still the flush that was under way
	send(opBatch, byte(Counters))
	if fired(moment) {
		t.Fatal("a flush that was already under way was counted")
	}
	written := int64(3)
	for called := false; !called; written += 2 {
		time.Sleep(pause + 50*time.Millisecond)
		began := time.Now()
		send(opBatch, byte(Counters))
		send(opBatch, byte(Visitors), 1)
		send(0x0a, byte(Counters)) // EXECUTE
		if fired(moment) {
			t.Fatal("something else was counted")
		}
		send(opBatch, byte(Counters))
		if time.Since(began) >= pause { // on a busy machine these may have been two flushes: once more
			called = fired(moment)
		} else if called = fired(10 * time.Second); !called {
			t.Fatal("not called")
		}
	}
	if unanswered < 1 {
		t.Errorf("told of %d writes without an answer", unanswered)
	}
	if p.Written() != written {
		t.Errorf("%d counter writes, want %d", p.Written(), written)
	}
}

func TestASlowProxyLetsCounterWritesPassInTurn(t *testing.T) {
	p, conn := connect(t)
	const gap, writes = 20 * time.Millisecond, 5
	took := func(kind Kind) time.Duration {
		t.Helper()
		began := time.Now()
		for i := range writes {
			if err := exchange(t, conn, request(uint16(i), opBatch, byte(kind))); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	p.Slow(gap)
	if d := took(Counters); d < (writes-1)*gap {
		t.Errorf("%d writes passed within %s", writes, d)
	}
	p.Slow(400 * time.Millisecond)
	if d := took(Visitors); d >= 400*time.Millisecond {
		t.Errorf("rows of visitors took %s", d)
	}
}

func TestAMutedProxySwallowsAnswersAndCutCloses(t *testing.T) {
	p, conn := connect(t)
	if err := exchange(t, conn, request(1, opBatch, byte(Counters))); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if !p.Quiet() {
		t.Error("not quiet, although every write is answered")
	}
	p.Mute()
	if err := exchange(t, conn, request(2, opBatch, byte(Counters))); err == nil {
		t.Error("an answer came through")
	}
	if p.Quiet() {
		t.Error("quiet, although a write has no answer")
	}
	if p.Swallowed() != 1 {
		t.Errorf("%d answers swallowed, want 1", p.Swallowed())
	}
	p.Cut()
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
}

func TestLostWritesDoNotArrive(t *testing.T) {
	p, conn := connect(t)
	p.Lose(Visitors, 1)
	if err := exchange(t, conn, request(1, opBatch, byte(Counters))); err != nil {
		t.Errorf("a write of another kind: %v", err)
	}
	if err := exchange(t, conn, request(2, opBatch, byte(Visitors))); err == nil {
		t.Error("a lost write was answered")
	}
	if n := p.Unlost(Visitors); n != 0 {
		t.Errorf("%d are still to be lost", n)
	}
	if err := exchange(t, conn, request(3, opBatch, byte(Visitors))); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// A write is late if the store applies it after the client has given up. One that the store refuses is not late, nor is one for which the
// client still waits.
func TestLateWritesAreCounted(t *testing.T) {
	answers := make(chan byte)
	p, conn := connectTo(t, serve(t, func(conn net.Conn) {
		f := make([]byte, headerSize+1)
		for stream := uint16(1); ; stream++ {
			if _, err := io.ReadFull(conn, f); err != nil {
				return
			}
			if _, err := conn.Write(request(stream, <-answers)); err != nil {
				return
			}
		}
	}))
	send := func(stream uint16) {
		t.Helper()
		if _, err := conn.Write(request(stream, opBatch, byte(Counters))); err != nil {
			t.Fatal(err)
		}
	}
	want := func(late int) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); p.Late().Writes < late && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // for one too many
		if got := p.Late(); got.Writes != late || late > 0 && time.Since(got.Last) > 5*time.Second {
			t.Fatalf("%+v, want %d writes", got, late)
		}
	}
	send(1)
	answers <- opResult
	want(0)
	send(2)
	time.Sleep(400 * time.Millisecond) // more than its patience
	answers <- opResult
	want(1)
	send(3)
	send(4)
	for deadline := time.Now().Add(5 * time.Second); p.Written() < 4 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	_ = conn.Close()
	time.Sleep(20 * time.Millisecond)
	answers <- 0 // an error
	want(1)
	answers <- opResult
	want(2)
	if !p.Quiet() {
		t.Error("not quiet, although no client waits for an answer")
	}
}
