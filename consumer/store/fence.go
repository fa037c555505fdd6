package store

import (
	"context"
	"errors"
	"fmt"
)

type fenceKey struct{}

// Fenced returns a context with a fence: under it, Apply calls check before it begins a request. If check returns an error the request is not sent.
func Fenced(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, fenceKey{}, check)
}

// ErrFenced is in each error of CheckFence: nothing was sent.
var ErrFenced = errors.New("not written")

// CheckFence returns why a request must not be begun under ctx; nil: it may, or there is no fence.
func CheckFence(ctx context.Context) error {
	check, fenced := ctx.Value(fenceKey{}).(func(context.Context) error)
	if !fenced {
		return nil
	}
	if err := check(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	return nil
}
