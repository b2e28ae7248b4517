package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesAreShown checks that the scripts and tests are there which docs/workflows.md names for its rules.
func TestRulesAreShown(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "workflows.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Rules that hold, and what shows them\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var tests []string
	for _, pkg := range []string{"act", "chaostest", "plan", "workflow"} {
		files, err := filepath.Glob(filepath.Join(root, "internal", pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests = append(tests, strings.Split(string(data), "\nfunc ")...)
		}
	}
	rows, names := 0, regexp.MustCompile("`([^`]+)`")
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| rule ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		cells := strings.Split(line, " | ")
		shown := names.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 2 || len(shown) == 0 {
			t.Errorf("nothing shows: %s", line)
		}
		for _, m := range shown {
			name, sub, isCase := strings.Cut(m[1], ": ")
			if !strings.HasPrefix(name, "Test") {
				if _, err := os.Stat(filepath.Join(root, "cmd", "git-wf", "testdata", "script", name+".txtar")); err != nil {
					t.Error(err)
				}
				continue
			}
			found := false
			for _, body := range tests {
				found = found || strings.HasPrefix(body, name+"(") && (!isCase || strings.Contains(body, `"`+sub+`"`))
			}
			if !found {
				t.Errorf("there is no %s", m[1])
			}
		}
	}
	const least = 30
	if rows < least {
		t.Errorf("docs/workflows.md has %d rules", rows)
	}
}
