package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// Live shows on a terminal what a run does: one line for each running task and one for the plan, below the lines of
// past events. Each of its lines fits into one row, and closing it leaves nothing behind.
type Live struct {
	block  *Block
	now    func() time.Time
	colour bool
	began  time.Time

	mu    sync.Mutex
	plan  string
	done  int
	all   int
	doing []engine.Doing
	spent engine.Spent
	files gitstore.Step // the last report of copying; complete if there is none
	since time.Time     // when that began
	title map[plan.TaskID]string
	stale bool // the screen is out of date
	last  time.Time

	stop chan struct{}
	over chan struct{}
}

// How often the view is drawn.
const (
	drawTime    = 100 * time.Millisecond
	elapsedTime = time.Second
)

func NewLive(out io.Writer, size func() (int, int), now func() time.Time, colour bool) *Live {
	v := &Live{block: NewBlock(out, size), now: now, colour: colour, began: now(), stop: make(chan struct{}),
		over: make(chan struct{})}
	go func() {
		defer close(v.over)
		tick := time.NewTicker(drawTime)
		defer tick.Stop()
		for {
			select {
			case <-v.stop:
				return
			case <-tick.C:
				v.mu.Lock()
				if v.stale || v.now().Sub(v.last) >= elapsedTime {
					v.draw()
				}
				v.mu.Unlock()
			}
		}
	}()
	return v
}

// Watch sets the running tasks, and what was spent.
func (v *Live) Watch(s *plan.State, doing []engine.Doing, spent engine.Spent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plan, v.doing, v.title, v.stale = string(s.Plan.PlanID), doing, map[plan.TaskID]string{}, true
	v.spent = spent
	v.done, v.all = s.Progress()
	for _, d := range doing {
		if t := s.Tasks[d.Task]; t != nil {
			v.title[d.Task] = plain.Line(t.Title)
		}
	}
}

// Step sets how far the copying of a deliverable is.
func (v *Live) Step(s gitstore.Step) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.files.Fraction() == 1 {
		v.since = v.now()
	}
	v.files, v.stale = s, true
}

// copying is the line about long copying; "" if there is none.
func (v *Live) copying() string {
	if v.files.Fraction() == 1 || v.now().Sub(v.since) < elapsedTime {
		return ""
	}
	return strings.Repeat(" ", 9) + stepText(v.files, 0)
}

// Line prints an event above the view.
func (v *Live) Line(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.block.Write(text + "\n")
	v.stale = true
}

// Close removes the view.
func (v *Live) Close() {
	close(v.stop)
	<-v.over
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.block.Write("")
}

// draw puts the view on the screen.
func (v *Live) draw() {
	columns, rows := v.block.Size()
	lines := v.lines(columns, max(rows-1, 1))
	if last := len(lines) - 1; v.colour {
		lines[last] = "\x1b[1m" + lines[last] + "\x1b[0m"
	}
	_ = v.block.Draw(lines)
	v.stale, v.last = false, v.now()
}

// lines are the rows of the view, at most so many: the running tasks, and the plan.
func (v *Live) lines(columns, most int) []string {
	var lines []string
	copying := v.copying()
	if copying != "" {
		most--
	}
	for i, d := range v.doing {
		if len(lines) >= most-2 && len(v.doing)-i > 1 {
			lines = append(lines, fmt.Sprintf("  ... and %d more", len(v.doing)-i))
			break
		}
		what := d.What + " by "
		if d.Elsewhere {
			what = "elsewhere: " + what
		}
		lines = append(lines, fmt.Sprintf("%7s  %-10s  %s%s  %s", Elapsed(v.now().Sub(d.Since)), d.Task, what,
			plain.Line(d.Agent), v.title[d.Task]))
	}
	if copying != "" {
		lines = append(lines, copying)
	}
	return append(lines, v.progress(columns))
}

// progress is the line about the plan, with a bar where there is room for one.
func (v *Live) progress(columns int) string {
	text := fmt.Sprintf("%d/%d done  %s  %s", v.done, v.all, Elapsed(v.now().Sub(v.began)), plain.Line(v.plan))
	if v.spent.Calls > 0 {
		text += "  " + v.spent.String()
	}
	const longest, shortest = 30, 10
	room := min(columns-len("[]  ")-terminal.Cells(text), longest)
	if room < shortest || v.all == 0 {
		return text
	}
	full := room * v.done / v.all
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", room-full) + "]  " + text
}

// Elapsed formats a duration as H:MM:SS, or as M:SS below an hour.
func Elapsed(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Block is some rows at the cursor of a terminal that are drawn over each other. It changes no mode of the terminal, so
// that however the program ends there is nothing to restore. It is not safe for concurrent use.
type Block struct {
	out   io.Writer
	size  func() (columns, rows int) // zero if unknown
	drawn []int                      // the width of each row on the screen
}

// NewBlock makes a block that has drawn nothing yet.
func NewBlock(out io.Writer, size func() (columns, rows int)) *Block {
	return &Block{out: out, size: size}
}

// Size is how many columns and rows a block can have: some terminals wrap after a full row, and one row stays free.
func (b *Block) Size() (columns, rows int) {
	columns, rows = b.dimensions()
	return columns - 1, max(rows-1, 1)
}

func (b *Block) dimensions() (columns, rows int) {
	columns, rows = b.size()
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

// Draw replaces what the block shows, in one write. It cuts lines to one row each.
func (b *Block) Draw(lines []string) error {
	columns, _ := b.Size()
	var text strings.Builder
	text.WriteString(b.erasure())
	b.drawn = nil
	for i, line := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		cut := terminal.Fit(line, columns)
		b.drawn = append(b.drawn, terminal.Cells(cut))
		text.WriteString(cut)
		if len(cut) < len(line) && strings.Contains(cut, "\x1b") {
			text.WriteString("\x1b[0m") // the end of its style was cut off
		}
	}
	_, err := io.WriteString(b.out, text.String())
	return err
}

// Write prints lines above the block, which is drawn again by the next Draw.
func (b *Block) Write(lines string) error {
	_, err := io.WriteString(b.out, b.erasure()+lines)
	b.drawn = nil
	return err
}

// Leave ends what the block shows: it stays where it is, and the next Draw begins below it.
func (b *Block) Leave() {
	if len(b.drawn) > 0 {
		fmt.Fprintln(b.out)
	}
	b.drawn = nil
}

// erasure removes the drawn rows and leaves the cursor at the start of the first. A terminal that has become narrower
// has wrapped them into more rows.
func (b *Block) erasure() string {
	if len(b.drawn) == 0 {
		return ""
	}
	columns, _ := b.dimensions()
	rows := 0
	for _, w := range b.drawn {
		rows += max(1, (w+columns-1)/columns)
	}
	up := ""
	if rows > 1 {
		up = fmt.Sprintf("\x1b[%dA", rows-1)
	}
	return "\r" + up + "\x1b[J"
}
