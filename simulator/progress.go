package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far a long step is: a bar on a terminal, else a line every two seconds.
type progress struct {
	out      io.Writer
	terminal bool
	what     string
	total    int
	began    time.Time
	shown    time.Time // when the bar or line was shown last
	told     time.Time // when the reason for waiting was shown last
}

// How often to show it.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 2 * time.Second
	barWidth  = 30
)

func newProgress(out io.Writer, what string, total int) *progress {
	p := &progress{out: out, what: what, total: total, began: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	p.shown = p.began
	return p
}

// at shows how many are done, if it is time to.
func (p *progress) at(done int) {
	every := lineEvery
	if p.terminal {
		every = barEvery
	}
	now := time.Now()
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	p.show(done, now)
}

// wait shows why there is no progress, every four seconds at the most.
func (p *progress) wait(done int, why error) {
	now := time.Now()
	if now.Sub(p.told) < 2*lineEvery {
		return
	}
	p.told, p.shown = now, now
	if p.terminal {
		fmt.Fprintln(p.out) // leave the bar as it is
	}
	fmt.Fprintf(p.out, "%d of %d %s: %v; trying again\n", done, p.total, p.what, why)
}

// end shows the last state.
func (p *progress) end(done int) {
	p.show(done, time.Now())
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

func (p *progress) show(done int, now time.Time) {
	text := fmt.Sprintf("%s %d of %d", p.what, done, p.total)
	if took := now.Sub(p.began).Seconds(); took > 0 {
		text += fmt.Sprintf(", %.0f per second", float64(done)/took)
	}
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	full := barWidth * done / max(p.total, 1)
	fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
}
