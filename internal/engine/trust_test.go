package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func openTrust(t *testing.T, dir string) *Trust {
	t.Helper()
	trust, err := OpenTrust(dir)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func lines(texts ...string) []plandoc.CommandLine {
	var all []plandoc.CommandLine
	for _, s := range texts {
		all = append(all, plandoc.CommandLine{Line: s})
	}
	return all
}

// Several processes, each with its own set, add to one file at once.
func TestTrustConcurrentAdds(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		trust := openTrust(t, dir)
		for half := range 2 { // and two goroutines share each set
			wg.Go(func() {
				for i := half; i < each; i += 2 {
					if err := trust.Add(lines(fmt.Sprintf("make %d-%d", w, i), fmt.Sprintf("test %d-%d", w, i))); err != nil {
						t.Error(err)
					}
					trust.Has("make 0-0")
				}
			})
		}
	}
	wg.Wait()
	trust := openTrust(t, dir)
	for w := range writers {
		for i := range each {
			for _, verb := range []string{"make", "test"} {
				if line := fmt.Sprintf("%s %d-%d", verb, w, i); !trust.Has(line) {
					t.Errorf("%q is lost", line)
				}
			}
		}
	}
	if len(trust.lines) != writers*each*2 {
		t.Errorf("%d lines, %d were added", len(trust.lines), writers*each*2)
	}
}

// A line that a power cut tore apart trusts nothing and damages no other line.
func TestTrustTornLine(t *testing.T) {
	dir := t.TempDir()
	if err := openTrust(t, dir).Add(lines("one", "two", "three")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "wf", "trust")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 65; cut += 7 {
		if err := os.WriteFile(file, data[:len(data)-1-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		trust := openTrust(t, dir)
		if !trust.Has("one") || !trust.Has("two") || trust.Has("three") || trust.Has("") {
			t.Errorf("%d bytes cut off: %v", cut, trust.lines)
		}
	}
}

func TestTrustIsOfExactLines(t *testing.T) {
	dir := t.TempDir()
	trust := openTrust(t, dir)
	if err := trust.Add(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "wf")); err == nil {
		t.Error("adding nothing made a file")
	}
	if err := trust.Add(lines("make", "a\nb")); err != nil {
		t.Fatal(err)
	}
	for _, trust := range []*Trust{trust, openTrust(t, dir)} {
		for line, want := range map[string]bool{"make": true, "a\nb": true, "a": false, "b": false, "make ": false,
			"make\n": false, "Make": false, "": false} {
			if trust.Has(line) != want {
				t.Errorf("%q: %v", line, !want)
			}
		}
	}
	task := &plan.Task{AcceptanceCriteria: []plan.Criterion{{Run: "make"}, {}}}
	if !trust.AllCriteria(task) {
		t.Error("a criterion for a person is no line to trust")
	}
	task.AcceptanceCriteria = append(task.AcceptanceCriteria, plan.Criterion{Run: "rm -rf ."})
	if trust.AllCriteria(task) {
		t.Error("one line that is not trusted is enough")
	}
	p := &plan.Plan{Tasks: []*plan.Task{{TaskID: "A-1", Run: "make"}, {TaskID: "A-2", Run: "new"},
		{TaskID: "A-3", Run: "new"}}}
	if got := trust.newLines(p); len(got) != 1 || got[0].Line != "new" {
		t.Errorf("new lines %v", got)
	}
}
