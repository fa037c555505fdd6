package retry_test

import (
	"context"
	"errors"
	"fmt"

	"footfall/internal/retry"
)

// A loop that tries again waits longer each time, and ends with its context.
func ExampleSleep() {
	ctx := context.Background()
	ask := func(attempt int) error {
		if attempt == 0 {
			return errors.New("Kafka does not answer")
		}
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := ask(attempt)
		if err == nil {
			fmt.Println("done")
			return
		}
		wait := retry.Backoff(attempt)
		fmt.Printf("%v: again in %v\n", err, wait)
		if err := retry.Sleep(ctx, wait); err != nil {
			return
		}
	}
	// Output:
	// Kafka does not answer: again in 100ms
	// done
}
