package watch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sample has every status, wide characters, and what a hostile plan would have.
func sample() Overview {
	manual := Review{Version: "v2", Criteria: []Criterion{
		{"A1", "It names every change, in words that somebody who has not seen the change before understands at once",
			"MUST"},
		{"A2", "看起來 \x1b[31m整齊", "SHOULD"},
	}}
	return Overview{
		ID: "WFS-發布", Title: "發布 \x1b]0;owned\x07 page", Status: plan.StatusInProgress, Notes: "unsigned", Done: 1, Total: 7,
		Running: []Running{
			{"LOGO-1", "Logo", "exec", noon.Add(-75 * time.Second)}, {"CHECK-PAGE-1", "The page", "llm \x1b[2J",
				noon.Add(-2 * time.Hour)},
			{"A-1", "A", "x", noon}, {"B-1", "B", "x", noon}, {"C-1", "C", "x", noon}, {"D-1", "D", "x", noon},
		},
		Tasks: []Task{
			{ID: "GOAL-1", Title: "發布", Status: plan.StatusInProgress, Notes: "1 of 7 done"},
			{ID: "WORDS-1", Depth: 1, Title: "Words", Status: plan.StatusInProgress},
			{ID: "NOTE-1", Depth: 2, Title: "說明文字，有很多很多很多很多很多很多很多很多字", Status: plan.StatusReadyToCheck, Notes: "v1 rejected 40",
				Waits: true,
				Held:  "v2 awaits a person's review", Command: "git wf review NOTE-1", Review: manual,
				NeededBy: []plan.TaskID{"POST-1"}},
			{ID: "LIST-1", Depth: 2, Title: "List", Status: plan.StatusDone, Notes: "v1 approved 100",
				Review: Review{Version: "v1"}},
			{ID: "LOGO-1", Depth: 1, Title: "Logo", Status: plan.StatusInProgress},
			{ID: "PAGE-1", Depth: 1, Title: "The page", Status: plan.StatusToBeModified},
			{ID: "READY-1", Depth: 1, Title: "Ready", Status: plan.StatusReady},
			{ID: "ASK-1", Depth: 1, Title: "Asks\nsomething", Status: plan.StatusWaitingInput, Waits: true, Held: "q1 is open"},
			{ID: "GONE-1", Depth: 1, Title: "Given up", Status: plan.StatusAbandoned},
			{ID: "POST-1", Depth: 1, Title: "Post", Status: plan.StatusPending, Needs: []plan.TaskID{"NOTE-1"},
				Held: "waits for NOTE-1"},
		},
	}
}

func drawn(m *Model, columns, rows int) string {
	var b strings.Builder
	for _, l := range m.Lines(columns, rows, noon) {
		b.WriteString(strings.TrimRight(Render(l, columns, false), " ") + "\n")
	}
	return b.String()
}

func press(m *Model, keys ...terminal.Key) (last Wish) {
	for _, k := range keys {
		last = m.Press(k)
	}
	return last
}

func TestScreens(t *testing.T) {
	page := Page{Want: Want{Kind: VersionPage, Task: "NOTE-1", Version: 1}, Title: "v1 of NOTE-1",
		Lines: strings.Split(strings.Repeat("a line of 文字 that is longer than the screen is wide and goes on\n\n", 30), "\n")}
	versions := Page{Want: Want{Kind: VersionsPage, Task: "NOTE-1"}, Title: "Versions",
		Versions: []Version{{2, "", "by Ann"}, {1, plan.Rejected, "by Ann; r1 rejected 40 by Bo"}}}
	tests := []struct {
		name          string
		columns, rows int
		ascii         bool
		do            func(m *Model)
	}{
		{"overview", 80, 24, false, func(*Model) {}},
		{"overview-wide", 130, 40, false, func(m *Model) { press(m, "G") }},
		{"overview-ascii", 80, 24, true, func(*Model) {}},
		{"overview-small", 40, 8, false, func(*Model) {}},
		{"overview-tiny", 20, 3, false, func(*Model) {}},
		{"folded", 80, 24, false, func(m *Model) { press(m, "k", "h") }},
		{"overview-empty", 80, 24, false, func(m *Model) { m.Show(Overview{ID: "WFS-none"}) }},
		{"searching", 80, 24, false, func(m *Model) { press(m, "/", "p", "o", "s") }},
		{"not-found", 80, 24, false, func(m *Model) { press(m, "/", "z", "z", terminal.Enter) }},
		{"help", 80, 24, false, func(m *Model) { press(m, "?") }},
		{"form", 80, 24, false, func(m *Model) { press(m, "x", " ", " ", terminal.Enter, "不", "好") }},
		{"form-small", 30, 6, false, func(m *Model) { press(m, "a", terminal.Down, terminal.Down, terminal.Down) }},
		{"page", 60, 12, false, func(m *Model) { m.Open(page); drawn(m, 60, 12); press(m, " ") }},
		{"page-end", 60, 12, false, func(m *Model) { m.Open(page); drawn(m, 60, 12); press(m, "G") }},
		{"versions", 80, 12, false, func(m *Model) { m.Open(versions); press(m, "j") }},
		{"refusal", 80, 12, false, func(m *Model) { m.Say("error: no\x1b[31m\nhint: git wf show") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &Model{ASCII: tt.ascii}
			m.Show(sample())
			drawn(m, tt.columns, tt.rows)
			tt.do(m)
			got := drawn(m, tt.columns, tt.rows)
			file := filepath.Join("testdata", tt.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReviewForm(t *testing.T) {
	begin := func(keys ...terminal.Key) (*Model, Wish) {
		m := &Model{}
		m.Show(sample())
		return m, press(m, keys...)
	}
	enter := terminal.Enter
	tests := []struct {
		name string
		keys []terminal.Key
		want *Decision
		said string // in the last screen, if there is no decision
	}{
		{"approve as a whole", []terminal.Key{"a", enter, enter, enter, enter, enter, enter},
			&Decision{Task: "NOTE-1", Version: "v2", Approve: true}, ""},
		{"approve without what has to be judged", []terminal.Key{"a", terminal.Backspace, enter, enter, enter, enter, enter,
			enter}, nil, "A1 is a MUST: say pass or fail"},
		{"approve what had to be judged", []terminal.Key{"a", "p", enter, enter, enter, enter, enter, enter},
			&Decision{Task: "NOTE-1", Version: "v2", Approve: true,
				Rulings: []Ruling{{"A1", "pass", ""}}}, ""},
		{"approve with verdicts", []terminal.Key{"a", "p", enter, "好", " ", "x", enter, "f", enter, enter, enter, enter},
			&Decision{
				Task: "NOTE-1", Version: "v2", Approve: true, Rulings: []Ruling{{"A1", "pass", "好 x"}, {"A2", "fail", ""}},
			}, ""},
		{"reject without a reason", []terminal.Key{"x", enter, enter, enter, enter, enter, enter}, nil, "say why"},
		{"reject with a reason", []terminal.Key{"x", enter, enter, enter, enter, "n", "o", terminal.Backspace, "!", enter,
			enter}, &Decision{Task: "NOTE-1", Version: "v2", Message: "n!"}, ""},
		{"reject because a criterion failed", []terminal.Key{"x", "f", enter, enter, enter, enter, enter, enter},
			&Decision{Task: "NOTE-1", Version: "v2", Rulings: []Ruling{{"A1", "fail", ""}}}, ""},
		{"think better of it", []terminal.Key{"x", "f", terminal.Escape}, nil, "nothing is recorded"},
		{"nothing to review", []terminal.Key{"G", "a"}, nil, "POST-1 has no version to review"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, wish := begin(tt.keys...)
			if diff := cmp.Diff(tt.want, wish.Decide); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if text := drawn(m, 80, 24); tt.want == nil && !strings.Contains(text, tt.said) {
				t.Errorf("the screen lacks %q:\n%s", tt.said, text)
			}
		})
	}
	t.Run("a version that is no longer the newest", func(t *testing.T) {
		m, _ := begin("a")
		o := sample()
		o.Tasks[2].Review.Version = "v3"
		for _, keys := range [][]terminal.Key{{}, {enter, enter, enter, enter, enter, enter}} {
			m.Show(o)
			if wish := press(m, keys...); wish.Decide != nil {
				t.Errorf("%+v was decided", wish.Decide)
			}
			if text := drawn(m, 80, 24); !strings.Contains(text, "v2 is no longer the newest version") {
				t.Errorf("it is not said after %q:\n%s", keys, text)
			}
		}
	})
	t.Run("what was written is kept, and a choice for its version", func(t *testing.T) {
		m, _ := begin("a", "p", enter, "o", "k", terminal.Escape, "x")
		if text := drawn(m, 80, 24); !strings.Contains(text, "evidence: ok") || !strings.Contains(text, "(*) pass") {
			t.Errorf("it is gone:\n%s", text)
		}
		press(m, terminal.Escape)
		o := sample()
		o.Tasks[2].Review.Version = "v3"
		m.Show(o)
		press(m, "a")
		if text := drawn(m, 80, 24); !strings.Contains(text, "evidence: ok") || strings.Contains(text, "(*) pass") {
			t.Errorf("a choice about v2 is one about v3, or the text is gone:\n%s", text)
		}
		m.Decided("NOTE-1")
		press(m, terminal.Escape, "a")
		if text := drawn(m, 80, 24); strings.Contains(text, "evidence: ok") {
			t.Errorf("it outlives the decision:\n%s", text)
		}
	})
}

func TestMoving(t *testing.T) {
	tests := []struct {
		name string
		keys []terminal.Key
		want plan.TaskID
	}{
		{"begins at what waits for a person", nil, "NOTE-1"},
		{"down", []terminal.Key{terminal.Down, "j"}, "LOGO-1"},
		{"to the ends", []terminal.Key{"g", "k"}, "GOAL-1"},
		{"to the last", []terminal.Key{"G", "j"}, "POST-1"},
		{"next that waits", []terminal.Key{"w"}, "ASK-1"},
		{"and around", []terminal.Key{"w", "w"}, "NOTE-1"},
		{"search by title", []terminal.Key{"/", "L", "o", "g", terminal.Enter}, "LOGO-1"},
		{"search on", []terminal.Key{"/", "o", "n", "e", terminal.Enter, "n"}, "GONE-1"},
		{"search back", []terminal.Key{"/", "d", "o", "n", "e", terminal.Enter, "N"}, "GONE-1"},
		{"search broken off", []terminal.Key{"/", "L", terminal.Escape, "j"}, "LIST-1"},
		{"to the goal", []terminal.Key{"h"}, "WORDS-1"},
		{"over a folded goal", []terminal.Key{"h", "h", "j"}, "LOGO-1"},
		{"search in a folded goal", []terminal.Key{"h", "h", "/", "L", "I", "S", "T", terminal.Enter}, "LIST-1"},
		{"unfold", []terminal.Key{"h", "h", "l", "j"}, "NOTE-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &Model{}
			m.Show(sample())
			drawn(m, 80, 24)
			press(m, tt.keys...)
			if m.selected != tt.want {
				t.Errorf("selected is %s, want %s", m.selected, tt.want)
			}
		})
	}
}

func TestWishes(t *testing.T) {
	tests := []struct {
		name string
		keys []terminal.Key
		want Wish
	}{
		{"open", []terminal.Key{terminal.Enter}, Wish{Open: &Want{Kind: TaskPage, Task: "NOTE-1"}}},
		{"review", []terminal.Key{"r"}, Wish{Open: &Want{Kind: ReviewPage, Task: "NOTE-1"}}},
		{"versions", []terminal.Key{"v"}, Wish{Open: &Want{Kind: VersionsPage, Task: "NOTE-1"}}},
		{"leave", []terminal.Key{"q"}, Wish{Leave: true}},
		{"leave from a form", []terminal.Key{"a", terminal.Interrupt}, Wish{Leave: true}},
		{"q in a text is a letter", []terminal.Key{"a", terminal.Down, "q"}, Wish{}},
		{"stop", []terminal.Key{terminal.Suspend}, Wish{Pause: true}},
		{"stop while searching", []terminal.Key{"/", terminal.Suspend}, Wish{Pause: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &Model{}
			m.Show(sample())
			if diff := cmp.Diff(tt.want, press(m, tt.keys...)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// For any keys and screen size, there are exactly as many rows as the screen has, none is too wide, and none has a
// control sequence except the styles that Render adds.
func TestAnyKeysOnAnyScreen(t *testing.T) {
	keys := []terminal.Key{"j", "k", "g", "G", "h", "l", "w", "a", "x", "q", "/", "n", "N", "d", "r", "v", "?", " ", "p",
		"f", "好",
		terminal.Enter, terminal.Escape, terminal.Up, terminal.Down, terminal.Tab, terminal.Backspace, terminal.PageDown,
		terminal.PageUp}
	rapid.Check(t, func(t *rapid.T) {
		m := &Model{ASCII: rapid.Bool().Draw(t, "ascii")}
		o := sample()
		m.Show(o)
		for i := range rapid.IntRange(0, 30).Draw(t, "steps") {
			wish := m.Press(rapid.SampledFrom(keys).Draw(t, fmt.Sprint("key", i)))
			if wish.Open != nil {
				p := Page{Want: *wish.Open, Title: "page \x1b[1m", Lines: []string{"a\tb \x1b[2J", strings.Repeat("字", 70), ""}}
				if wish.Open.Kind == VersionsPage {
					p.Versions = []Version{{2, "", "by 安"}, {1, plan.Rejected, "x\x07"}}
				}
				m.Open(p)
			}
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				o.Tasks = o.Tasks[:rapid.IntRange(0, len(o.Tasks)).Draw(t, "tasks")]
				m.Show(o)
			}
			columns, rows := rapid.IntRange(1, 100).Draw(t, "columns"), rapid.IntRange(1, 40).Draw(t, "rows")
			lines := m.Lines(columns, rows, noon)
			if len(lines) != rows {
				t.Fatalf("%d rows on a screen of %d", len(lines), rows)
			}
			for _, l := range lines {
				text := Render(l, columns, false)
				if terminal.Cells(text) > columns {
					t.Fatalf("%d columns on a screen of %d: %q", terminal.Cells(text), columns, text)
				}
				if strings.ContainsFunc(text, func(r rune) bool {
					return unicode.IsControl(r) || m.ASCII && r > unicode.MaxASCII
				}) {
					t.Fatalf("a row has what it must not have: %q", text)
				}
			}
		}
	})
}
