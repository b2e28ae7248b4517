package workflow

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// quick fails if something takes so long that somebody could make a run wait with a file.
func quick(t *testing.T, what string, do func()) {
	t.Helper()
	start := time.Now()
	do()
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("%s takes %s", what, took)
	}
}

// Files at and beyond the limits end in findings, and soon.
func TestLimits(t *testing.T) {
	tasks := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  - {id: A-%d, title: T, make: out.md, criteria: [{id: A1, statement: out.md has 1 line}]}\n", i+1)
		}
		return b.String()
	}
	comment := strings.Repeat("# a line that says nothing, but is there all the same\n", MaxFileBytes/54)
	deep := doc("A-1", "")
	for i := range 10 {
		deep = fmt.Sprintf("{group: G-%d, title: T, tasks: [%s]}", i, deep)
	}
	for _, tt := range []struct {
		name string
		src  Source
		want string // the code of a finding, "" if there is none
	}{
		{"1 MiB", small(comment, tasks(1)), "too-large"},
		{"nearly 1 MiB", small(comment[:MaxFileBytes-400], tasks(1)), ""},
		{"10,000 tasks", small("", tasks(10_000)), "too-many"},
		{"as many as a plan holds", small("", tasks(MaxTasks)), ""},
		{"one more", small("", tasks(MaxTasks+1)), "too-many"},
		{"deep groups", small("", "  - "+deep), "depth"},
		{"too many choices", small("params: {a: {type: choice, options: [1x, 2x, 3x, 4x]}, b: {type: choice, options: [1x, 2x, 3x, 4x]}, "+
			"c: {type: choice, options: [1x, 2x, 3x, 4x]}, d: {type: choice, options: [1x, 2x, 3x, 4x]}, e: {type: boolean}}", tasks(1)), "too-many"},
		{"no UTF-8", small("about: \xff", tasks(1)), "not-utf8"},
		{"an alias that contains itself", small("params: &a {x: *a}", tasks(1)), "too-deep"},
		{"nothing", Source{"small.yaml", nil}, "empty"},
		{"a list", Source{"small.yaml", []byte("- a")}, "wrong-type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			quick(t, "lint", func() {
				w, err := Load(tt.src, nil)
				var fs plan.Findings
				if err == nil {
					fs = w.Lint()
				} else if !errors.As(err, &fs) {
					t.Fatal(err)
				}
				if tt.want == "" && len(fs) > 0 && !fs.Has("plan-review") || tt.want != "" && !fs.Has(tt.want) {
					t.Errorf("want %q, got %v", tt.want, fs)
				}
			})
		})
	}
}

// A chain of uses may be four deep. A circle of several files is found, too.
func TestUse(t *testing.T) {
	chain := func(files map[string]string) error {
		find := func(name string) (Source, error) {
			if text, ok := files[name]; ok {
				return Source{name + ".yaml", []byte("workflow: " + name + "\nversion: 1\ntasks:\n  - " + text)}, nil
			}
			return Source{}, errors.New("no such file")
		}
		src, err := find("a")
		if err != nil {
			t.Fatal(err)
		}
		w, err := Load(src, find)
		if err == nil {
			again, err := LoadPinned(w.Sources())
			if err != nil || len(again.Sources()) != len(w.Sources()) {
				t.Errorf("what is pinned can't be read back: %v", err)
			}
		}
		return err
	}
	four := map[string]string{"a": "{use: b}", "b": "{use: c}", "c": "{use: d}", "d": "{use: e}", "e": doc("A-1", ""), "f": doc("A-1", "")}
	if err := chain(four); err != nil {
		t.Error(err)
	}
	four["e"] = "{use: f}"
	if err := chain(four); err == nil || !strings.Contains(err.Error(), "at most 4 levels") {
		t.Errorf("five levels of use: %v", err)
	}
	four["d"] = "{use: b}"
	if err := chain(four); err == nil || !strings.Contains(err.Error(), "a -> b -> c -> d -> b") {
		t.Errorf("a circle: %v", err)
	}
	four["d"] = "{use: nothing}"
	var fs plan.Findings
	if err := chain(four); !errors.As(err, &fs) || !fs.Has("unknown-name") || fs[0].File != "d.yaml" || fs[0].Line != 4 {
		t.Errorf("a file that is not there: %v", err)
	}
}
