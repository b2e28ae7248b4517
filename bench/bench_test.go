package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain makes the checkout of benchAttempt, which starts its own program for it.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-checkout" {
		if err := oneCheckout(context.Background(), os.Args[2]); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestBenchmarks runs every benchmark as small as possible, so that they still work when somebody wants to measure.
func TestBenchmarks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a few hundred processes")
	}
	ctx := context.Background()
	l, err := newLab(ctx, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	z := sizes{
		files: 300, bundle: 25, commits: 1, history: 53, landings: 3, verifies: 1, moves: 1, tags: 12, fetches: 1,
		tasks: 3, runs: 1, planTasks: 50, statuses: 1, scales: 1, events: 60, large: 3, many: 40, attempts: 1, changes: 3,
		landed: 1, flow: 3, flows: 1,
	}
	for _, b := range benchmarks {
		r, err := b.run(ctx, l, z)
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		t.Log(r)
		if len(r.curves) == 0 {
			continue
		}
		picture := filepath.Join(t.TempDir(), "plot.svg")
		if err := draw(r.curves, picture); err != nil {
			t.Fatal(err)
		}
		svg, err := os.ReadFile(picture)
		if err != nil || !strings.Contains(string(svg), "git wf plan -f") {
			t.Errorf("the picture has no legend: %v", err)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		in   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{3}, 3},
		{[]time.Duration{9, 1, 2}, 2},
		{[]time.Duration{10, 1, 2, 4}, 3},
	} {
		if got := median(tt.in); got != tt.want {
			t.Errorf("median(%v) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestGoal(t *testing.T) {
	for _, tt := range []struct {
		r    ratio
		want bool
	}{
		{ratio{wall: 2, goal: 2}, true},
		{ratio{wall: 2, goal: 2, strict: true}, false},
		{ratio{wall: 1.99, goal: 2, strict: true}, true},
		{ratio{wall: 2.01, goal: 2}, false},
	} {
		if got := tt.r.met(); got != tt.want {
			t.Errorf("%+v: met is %v", tt.r, got)
		}
	}
}

// An unmeasured goal is neither met nor missed; a ratio without a goal is only for the reader.
func TestQuotients(t *testing.T) {
	took := func(d ...time.Duration) *contestant { return &contestant{wall: d, cpu: d} }
	r := report{ratios: []ratio{
		compare("slower", 2, took(5), took(2)),
		compare("as slow", 1, took(2), took(2)),
		compare("as slow, which is too slow", 1, took(2), took(2)).below(),
		compare("no goal", 0, took(9), took(1)),
		compare("not here", 1, took(2), &contestant{absent: true}),
		compare("added to what is not here", 1, more(took(2), &contestant{absent: true}), took(1)),
		within("a figure", int64(30), 40),
		within("a figure that nobody knows", int64(0), 40),
	}}
	want := [][]string{
		{"ratio", "goal", "user+sys", ""},
		{"2.50", "<= 2.00", "2.50", "slower: MISSED"},
		{"1.00", "<= 1.00", "1.00", "as slow: met"},
		{"1.00", "< 1.00", "1.00", "as slow, which is too slow: MISSED"},
		{"9.00", "", "9.00", "no goal"},
		{"-", "<= 1.00", "-", "not here: not measured"},
		{"-", "<= 1.00", "-", "added to what is not here: not measured"},
		{"0.75", "<= 1.00", "", "a figure: met"},
		{"-", "<= 1.00", "-", "a figure that nobody knows: not measured"},
	}
	if diff := cmp.Diff(want, r.quotients()); diff != "" {
		t.Error(diff)
	}
}

// What a command adds is the median of the differences, not the difference of the medians.
func TestAdded(t *testing.T) {
	const ms = time.Millisecond
	plain := &contestant{name: "plain", memory: 7 << 20, wall: []time.Duration{1 * ms, 8 * ms, 9 * ms},
		cpu: []time.Duration{ms}}
	hooked := &contestant{name: "hooked", over: plain, wall: []time.Duration{2 * ms, 9 * ms, 30 * ms},
		cpu: []time.Duration{ms}}
	want := [][]string{
		{"time", "added", "fastest", "user+sys", "memory", ""},
		{"8.0 ms", "", "1.0 ms", "1.0 ms", "7 MB", "plain"},
		{"9.0 ms", "1.0 ms", "2.0 ms", "1.0 ms", "-", "hooked"},
		{"-", "-", "-", "-", "-", "lefthook: not installed"},
	}
	r := report{rows: []*contestant{plain, hooked, {name: "lefthook", absent: true, over: plain}}}
	if diff := cmp.Diff(want, r.times()); diff != "" {
		t.Error(diff)
	}
}

// A page keeps the rows of what was not measured, and gets a row for each ratio with a goal of what was.
func TestPage(t *testing.T) {
	took := func(d ...time.Duration) *contestant { return &contestant{wall: d, cpu: d} }
	r := report{title: "verify: how long: so long", ratios: []ratio{
		compare("ours / theirs", 2, took(5), took(2)), compare("no goal", 0, took(9), took(1)),
		compare("fast / slow", 2, took(5), took(5)), compare("not here", 1, took(2), &contestant{absent: true}),
	}}
	const after = "\nWhat follows.\n"
	page, err := r.intoPage("# Page\n\n" + pageHead + "| run | a / b | 1.00 | 0.50 |\n| verify | old | 1.00 | 1.00 |\n" + after)
	want := "# Page\n\n" + pageHead + "| verify | ours / theirs | 2.00 | 2.50, missed |\n" +
		"| verify | fast / slow | 2.00 | 1.00 |\n| run | a / b | 1.00 | 0.50 |\n" + after
	if diff := cmp.Diff(want, page); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := r.intoPage("# Page\n"); err == nil {
		t.Error("a page without the table is written")
	}
}

// The table of docs/performance.md is what the benchmarks write: the page survives being written, and each row says what
// a ratio is called today.
func TestPageOfDocs(t *testing.T) {
	data, err := os.ReadFile("../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(data), "\r\n", "\n")
	if again, err := (report{title: "none"}).intoPage(page); err != nil || again != page {
		t.Errorf("the page is not as it is written: %v %s", err, cmp.Diff(page, again))
	}
	var source strings.Builder
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	_, table, _ := strings.Cut(page, pageHead)
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 {
			break
		}
		rows++
		_, other, _ := strings.Cut(cells[1], " / ")
		other, _, _ = strings.Cut(other, ", ")
		if !strings.Contains(source.String(), " / "+other) {
			t.Errorf("no benchmark compares %q", cells[1])
		}
	}
	const least = 20
	if rows < least {
		t.Errorf("the table has %d rows", rows)
	}
}

func TestPageLines(t *testing.T) {
	var got []int
	for _, l := range pageLines(23, 10) {
		got = append(got, strings.Count(l.spec, "page"))
	}
	if want := []int{10, 10, 3}; !slices.Equal(got, want) {
		t.Errorf("files of each task: %v, want %v", got, want)
	}
}

// A benchmark must not measure a check that lets an unapproved bundle pass.
func TestRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a few dozen processes")
	}
	ctx := context.Background()
	l, err := newLab(ctx, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	y, err := newSharedTree(ctx, l, sizes{files: 20, bundle: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := y.refuses(ctx, noHooks); err == nil || !strings.Contains(err.Error(), "let a bundle pass") {
		t.Errorf("without hooks: %v", err)
	}
}
