package progress

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/terminal"
)

// NewMeter makes a line of progress on a terminal of this size. delay is git's GIT_PROGRESS_DELAY.
func NewMeter(out io.Writer, size func() (columns, rows int), delay string) *Meter {
	return &Meter{out: out, size: size, now: time.Now, delay: delayOf(delay)}
}

// delayOf is how long work takes before it is shown, in seconds as git reads it; two by default.
func delayOf(setting string) time.Duration {
	if n, err := strconv.Atoi(setting); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	return 2 * time.Second
}

// Meter is one line on a terminal that says how far work on files is. It redraws itself with only spaces and carriage
// returns, which every terminal knows.
type Meter struct {
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

// Step records a step, and draws it if it is time.
func (m *Meter) Step(s gitstore.Step) {
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

// Text shows a text in place of a step.
func (m *Meter) Text(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.draw(plain.Line(text), m.now())
}

// Wait says how long the work takes as often as nothing else was drawn for a while; end takes the line away.
func (m *Meter) Wait() (end func()) {
	began, stop, over := m.now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(elapsedTime)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				m.mu.Lock()
				if now := m.now(); now.Sub(began) >= silence && now.Sub(m.drawn) >= silence {
					m.draw("Working: "+Elapsed(now.Sub(began)), now)
				}
				m.mu.Unlock()
			}
		}
	}()
	return func() {
		close(stop)
		<-over
		m.End()
	}
}

// silence is how long work may be shown as nothing new.
const silence = 3 * time.Second

// draw draws a text, unless the line was just drawn.
func (m *Meter) draw(text string, now time.Time) {
	if now.Sub(m.drawn) < drawTime {
		return
	}
	m.drawn = now
	columns, _ := NewBlock(m.out, m.size).Size()
	text = terminal.Fit(text, columns)
	width := terminal.Cells(text)
	fmt.Fprint(m.out, "\r"+text+strings.Repeat(" ", max(min(m.width, columns)-width, 0)))
	m.width = width
}

// End removes the line.
func (m *Meter) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.width > 0 {
		fmt.Fprint(m.out, "\r"+strings.Repeat(" ", m.width)+"\r")
	}
	m.what, m.width = "", 0
}

// stepText is a step as git words it: "Writing files:  45% (450/1000), 12.0 MiB | 3.0 MiB/s".
func stepText(s gitstore.Step, took time.Duration) string {
	text := fmt.Sprintf("%s: %3d%% (%d/%d)", plain.Line(s.What), int(100*s.Fraction()), s.Done, s.All)
	if s.Bytes > 0 {
		text += ", " + plain.Bytes(s.Bytes)
	}
	if s.Bytes > 0 && took >= time.Second {
		text += " | " + plain.Bytes(int64(float64(s.Bytes)/took.Seconds())) + "/s"
	}
	return text
}
