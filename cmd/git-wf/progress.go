package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// metered is the command's context, and on a terminal one under which long work on files is shown, in one line as git's
// own commands have it; end takes the line away. It must be called before anything else is printed.
func (e *env) metered(c *cli.Context) (ctx context.Context, end func()) {
	m := e.meter(c)
	if m == nil {
		return c.Context, func() {}
	}
	return gitstore.WithProgress(c.Context, m.show), m.end
}

// meter is the line of progress of a command, nil where nobody would see it.
func (e *env) meter(c *cli.Context) *meter {
	size := e.screen()
	if size == nil || c.Bool("quiet") || c.Bool("json") {
		return nil
	}
	return &meter{out: e.stderr, size: size, now: time.Now, delay: meterDelay(e.getenv("GIT_PROGRESS_DELAY"))}
}

// meterDelay is how long work goes on before it is shown, as git reads it: in seconds, two of them unless the user says
// otherwise. What is done by then needs no line.
func meterDelay(setting string) time.Duration {
	if n, err := strconv.Atoi(setting); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	return 2 * time.Second
}

// meter is one line on a terminal that says how far work on files is. It is drawn over itself with spaces and carriage
// returns alone, which every terminal knows.
type meter struct {
	out   io.Writer
	size  func() (columns, rows int)
	now   func() time.Time
	delay time.Duration

	mu    sync.Mutex
	what  string    // the work that is shown
	began time.Time // when it did
	drawn time.Time
	width int // of what is on the screen, in columns
}

// show takes up a step, and draws it if it is time for that.
func (m *meter) show(s gitstore.Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if s.What != m.what {
		m.what, m.began, m.drawn = s.What, now, time.Time{}
	}
	if now.Sub(m.began) >= m.delay {
		m.draw(stepText(s, now.Sub(m.began)), now)
	}
}

// text shows a text in place of a step.
func (m *meter) text(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draw(plan.OneLine(text), m.now())
}

// draw puts a text on the screen, unless it has just been drawn.
func (m *meter) draw(text string, now time.Time) {
	if now.Sub(m.drawn) < drawTime {
		return
	}
	m.drawn = now
	columns, _ := m.size()
	if columns <= 0 {
		columns = 80
	}
	text = terminal.Fit(text, columns-1)
	width := terminal.Cells(text)
	fmt.Fprint(m.out, "\r"+text+strings.Repeat(" ", max(min(m.width, columns-1)-width, 0)))
	m.width = width
}

// end takes the line away.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.width > 0 {
		columns, _ := m.size()
		fmt.Fprint(m.out, "\r"+strings.Repeat(" ", min(m.width, max(columns-1, m.width)))+"\r")
	}
	m.what, m.width = "", 0
}

// stepText is a step in git's words: "Writing files:  45% (450/1000), 12.0 MiB | 3.0 MiB/s".
func stepText(s gitstore.Step, took time.Duration) string {
	text := fmt.Sprintf("%s: %3d%% (%d/%d)", plan.OneLine(s.What), int(100*s.Fraction()), s.Done, s.All)
	if s.Bytes > 0 {
		text += ", " + bytesText(s.Bytes)
	}
	if s.Bytes > 0 && took >= time.Second {
		text += " | " + bytesText(int64(float64(s.Bytes)/took.Seconds())) + "/s"
	}
	return text
}
