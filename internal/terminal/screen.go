package terminal

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"
)

// Screen is a terminal that shows one program's rows and nothing else until it is closed. Close restores what was on it
// before. It is for one goroutine.
type Screen struct {
	in, out       *os.File
	before        *term.State // of the terminal before the program started
	taken         bool
	drawn         []string // the rows on the screen; nil if unknown
	columns, rows int      // at the last Draw
	jobs          chan os.Signal
}

// Sequences that take a terminal over (alternate screen, no cursor, no line wrap) and restore it.
const (
	takeOver = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	giveBack = "\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l"
)

// Open takes a terminal over. The caller must call Close, whatever happens in between.
func Open(in, out *os.File) (*Screen, error) {
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("read the state of the terminal: %w", err)
	}
	s := &Screen{in: in, out: out, before: before, jobs: make(chan os.Signal, 8)}
	notifyJobs(s.jobs)
	return s, s.Take()
}

// Jobs delivers the signals, besides the end, that a full-screen program must handle: stop (Stops; call Pause),
// continue (Continues; call Take), and a new size of the terminal.
func (s *Screen) Jobs() <-chan os.Signal { return s.jobs }

// Take takes the terminal over, again if another program used it meanwhile.
func (s *Screen) Take() error {
	s.taken, s.drawn = true, nil
	if _, err := term.MakeRaw(int(s.in.Fd())); err != nil {
		return fmt.Errorf("take the terminal over: %w", err)
	}
	_, err := s.out.WriteString(takeOver)
	return err
}

// Pause restores the terminal and stops the program, as Ctrl+Z does with any other. It returns when the program runs
// again; the terminal is then not taken over yet.
func (s *Screen) Pause() error {
	if err := s.leave(); err != nil {
		return err
	}
	return stopJob()
}

// Close restores the terminal for good. A second call does nothing.
func (s *Screen) Close() error {
	signal.Stop(s.jobs)
	return s.leave()
}

func (s *Screen) leave() error {
	if !s.taken {
		return nil
	}
	s.taken, s.drawn = false, nil
	_, err := s.out.WriteString(giveBack)
	return errors.Join(err, term.Restore(int(s.in.Fd()), s.before))
}

// Size returns the terminal's current size.
func (s *Screen) Size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// Forget makes the next Draw draw everything.
func (s *Screen) Forget() { s.drawn = nil }

// Draw shows rows, each of which fits into Size's columns. It sends only what changed.
func (s *Screen) Draw(rows []string, columns, height int) error {
	if !s.taken {
		return nil
	}
	var b strings.Builder
	if s.drawn == nil || columns != s.columns || height != s.rows {
		b.WriteString("\x1b[0m\x1b[H\x1b[2J")
		s.drawn = make([]string, height)
	}
	s.columns, s.rows = columns, height
	for i := range s.drawn {
		row := ""
		if i < len(rows) {
			row = rows[i]
		}
		if row != s.drawn[i] {
			fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[K", i+1, row)
			s.drawn[i] = row
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := s.out.WriteString(b.String())
	return err
}
