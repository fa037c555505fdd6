package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
)

var sample = regexp.MustCompile(`(?m)^([a-z_]+(?:\{.*\})?) ([-+.0-9eE]+)$`)

// Metrics reads /metrics at url: values by name with labels, spelt as in the answer.
func Metrics(ctx context.Context, url string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading metrics: %s answered %s", url, resp.Status)
	}
	out := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(string(body), -1) {
		if out[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			return nil, fmt.Errorf("reading metrics: %s: %w", m[0], err)
		}
	}
	return out, nil
}
