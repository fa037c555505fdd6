package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"footfall/internal/doctor"
)

// overheard keeps what is logged as a warning, instead of printing it: consumers log what they do not refuse. Safe for concurrent use.
type overheard struct {
	mu       sync.Mutex
	warnings doctor.Findings
}

// Enabled implements slog.Handler.
func (o *overheard) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (o *overheard) Handle(_ context.Context, r slog.Record) error {
	var about []string
	r.Attrs(func(a slog.Attr) bool {
		about = append(about, fmt.Sprintf("%s %v", a.Key, a.Value))
		return true
	})
	f := doctor.FromError(fmt.Errorf("%s (%s)", r.Message, strings.Join(about, ", ")), "see docs/runbook.md, What a consumer refuses")
	f[0].Severity = doctor.Warning
	o.mu.Lock()
	defer o.mu.Unlock()
	o.warnings.Add(f)
	return nil
}

// WithAttrs implements slog.Handler. Nobody asks for it.
func (o *overheard) WithAttrs([]slog.Attr) slog.Handler { return o }

// WithGroup implements slog.Handler. Nobody asks for it.
func (o *overheard) WithGroup(string) slog.Handler { return o }

// take returns the warnings that were logged since it was last called.
func (o *overheard) take() doctor.Findings {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.warnings
	o.warnings = nil
	return taken
}
