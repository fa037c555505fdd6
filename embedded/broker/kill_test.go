package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/embedded/broker"
	"footfall/internal/kafka/dial"
	"footfall/models"
	"footfall/test/harness"
)

// childDir is the environment variable with the directory of the broker that is killed.
const childDir = "FOOTFALL_TEST_BROKER_DIR"

func TestMain(m *testing.M) {
	harness.Main(m, map[string]func(){"broker": func() {
		b, err := broker.Start(context.Background(), os.Getenv(childDir), broker.Retention{}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(b.Addr(), b.Login().Password)
		select {}
	}})
}

// child starts a broker in a process of its own.
func child(t *testing.T, dir string) (cmd *exec.Cmd, via dial.Kafka) {
	t.Helper()
	cmd = harness.Self(t, "broker", []string{childDir + "=" + dir})
	addr, password, _ := strings.Cut(harness.Launch(t, cmd), " ")
	return cmd, login(t, addr, password)
}

// TestKill: after kill -9 under load, again and again, every acknowledged record is in the log, once and in its partition.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	dir := t.TempDir()
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for round := range 4 {
		cmd, via := child(t, dir)
		if round == 0 {
			create(t, via)
		}
		var wg sync.WaitGroup
		enough := make(chan struct{}, 1000)
		for p := range 3 {
			for writer := range 3 {
				wg.Go(func() {
					for i := 0; ; i++ {
						value := fmt.Sprintf("%d-%d-%d-%d-%s", round, p, writer, i, strings.Repeat("x", 3000))
						if produce(t.Context(), via, p, value) != nil {
							return // killed
						}
						mu.Lock()
						acknowledged[value] = true
						mu.Unlock()
						select {
						case enough <- struct{}{}:
						default:
						}
					}
				})
			}
		}
		for range 40 + 30*round {
			select {
			case <-enough:
			case <-time.After(20 * time.Second):
				t.Fatal("the broker acknowledges no more records")
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		wg.Wait()
	}

	b := start(t, dir)
	found := map[string]int{}
	for p := range 3 {
		for _, value := range records(t, via(t, b), p, b.Ends(topic)[models.Partition{Topic: topic, Number: p}]) {
			found[value]++
		}
	}
	for value := range acknowledged {
		if found[value] != 1 {
			t.Errorf("%.20s was acknowledged and is in the log %d times", value, found[value])
		}
	}
	t.Logf("%d acknowledged, %d in the log", len(acknowledged), len(found))
}
