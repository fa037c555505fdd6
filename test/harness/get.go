package harness

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// Get asks for a page and returns its status and text. It fails the test if there is no whole answer.
func Get(t testing.TB, url string) (status int, text string) {
	t.Helper()
	response, err := http.Get(url) //nolint:gosec // the test's own process
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
