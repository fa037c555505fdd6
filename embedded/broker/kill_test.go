package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
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
		via, err := dial.New(b.Client())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for p := range 3 {
			for writer := range 3 {
				go func() {
					for i := 0; ; i++ {
						value := fmt.Sprintf("%d-%d-%d-%d", os.Getpid(), p, writer, i)
						if err := produce(context.Background(), via, p, value+strings.Repeat("x", 3000)); err != nil {
							fmt.Fprintln(os.Stderr, err)
							os.Exit(1)
						}
						fmt.Println(value) // in one write
					}
				}()
			}
		}
		select {}
	}})
}

// TestKill: after kill -9 under load, again and again, every acknowledged record is in the log, once and in its partition.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	dir := t.TempDir()
	before := start(t, dir)
	create(t, via(t, before))
	before.Close()
	var acknowledged []string
	for round := range 4 {
		cmd := harness.Self(t, "broker", []string{childDir + "=" + dir})
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		late := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		enough := len(acknowledged) + 40 + 30*round
		for lines := bufio.NewScanner(out); lines.Scan(); { // also what was acknowledged until the kill
			acknowledged = append(acknowledged, lines.Text())
			if len(acknowledged) == enough {
				_ = cmd.Process.Kill()
			}
		}
		late.Stop()
		_ = cmd.Wait()
		if len(acknowledged) < enough {
			t.Fatal("the broker acknowledges no more records")
		}
	}

	b := start(t, dir)
	found := map[string]int{}
	for p := range 3 {
		for _, value := range records(t, via(t, b), p, b.Ends(topic)[models.Partition{Topic: topic, Number: p}]) {
			found[strings.TrimRight(value, "x")]++
		}
	}
	for _, value := range acknowledged {
		if found[value] != 1 {
			t.Errorf("%s was acknowledged and is in the log %d times", value, found[value])
		}
	}
	t.Logf("%d acknowledged, %d in the log", len(acknowledged), len(found))
}
