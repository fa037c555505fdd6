// Command go sends one click and tries again until the producer has it. PRODUCER is the address of the producer, KEY a write key (any text
// where access.open is set).
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Click is what a service saw: who followed which link.
type Click struct {
	ID       string `json:"id"` // the same for each attempt, so that it counts once
	ShortURL string `json:"short_url"`
	IP       string `json:"ip"`
	Referrer string `json:"referrer,omitempty"`
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	click := Click{ID: fmt.Sprint("go-", time.Now().UnixNano()), ShortURL: "example-go", IP: "203.0.113.7", Referrer: "news.example"}
	if err := send(ctx, cmp.Or(os.Getenv("PRODUCER"), "http://127.0.0.1:8080"), cmp.Or(os.Getenv("KEY"), "none"), click); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// send returns nil when Kafka has the click.
func send(ctx context.Context, producer, key string, click Click) error {
	body, err := json.Marshal(click)
	if err != nil {
		return err
	}
	for {
		wait, err := attempt(ctx, producer+"/v1/clicks", key, body)
		if err == nil || wait == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("giving up: %w", err)
		case <-time.After(wait):
		}
	}
}

// attempt sends once. After an error it says how long to wait before the next attempt; 0 means that none will help.
func attempt(ctx context.Context, url, key string, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return time.Second, err // it may have got there: the id sees to it that it counts once
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return time.Second, err
	}
	err = fmt.Errorf("%s: %s", response.Status, answer)
	switch response.StatusCode {
	case http.StatusAccepted:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 1)) * time.Second, err
	}
	return 0, err
}
