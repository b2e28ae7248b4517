package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRulesAreShown checks that the scripts and tests are there which docs/workflows.md, docs/gate.md and
// docs/catalogue.md name for each rule and each route: every row of a table whose last column is "shown by" names at
// least one.
func TestRulesAreShown(t *testing.T) {
	tests := testBodies(t, "act", "chaostest", "gate", "plan", "workflow")
	for page, least := range map[string]int{"workflows.md": 18, "catalogue.md": 144, "gate.md": 35} {
		rows, names := rowsShown(t, page), regexp.MustCompile("`([^`]+)`")
		if len(rows) < least {
			t.Errorf("docs/%s has %d rows that say what shows them", page, len(rows))
		}
		for _, row := range rows {
			cells := strings.Split(row, " | ")
			shown := names.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(shown) == 0 {
				t.Errorf("docs/%s: nothing shows: %s", page, row)
			}
			for _, m := range shown {
				if !isShown(tests, m[1]) {
					t.Errorf("docs/%s: there is no %s", page, m[1])
				}
			}
		}
	}
}

// rowsShown returns the rows of the tables that say what shows each.
func rowsShown(t *testing.T, page string) (rows []string) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.SplitSeq(strings.ReplaceAll(string(doc), "\r\n", "\n"), "\n") {
		switch {
		case strings.HasSuffix(line, "| shown by |"):
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "| ---"):
			rows = append(rows, line)
		}
	}
	return rows
}

// testBodies returns the functions of the packages' tests, each from its name on.
func testBodies(t *testing.T, packages ...string) (bodies []string) {
	t.Helper()
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, "internal", pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, strings.Split(string(data), "\nfunc ")...)
		}
	}
	return bodies
}

// isShown reports whether there is a script of this name, or a test, with the case behind its colon.
func isShown(tests []string, name string) bool {
	test, sub, isCase := strings.Cut(name, ": ")
	if !strings.HasPrefix(test, "Test") {
		_, err := os.Stat(filepath.Join(root, "cmd", "git-wf", "testdata", "script", test+".txtar"))
		return err == nil
	}
	for _, body := range tests {
		if strings.HasPrefix(body, test+"(") && (!isCase || strings.Contains(body, `"`+sub+`"`)) {
			return true
		}
	}
	return false
}
