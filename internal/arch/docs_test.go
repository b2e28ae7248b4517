package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdFence   = regexp.MustCompile("(?ms)^(```+|~~~+)[^\n]*\n.*?^(```+|~~~+)$")
	mdHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	pageName  = regexp.MustCompile(`docs/[a-z/-]+\.(?:md|1)\b`)
)

// TestLinks follows the links of the documents to files of the repository, and to headings in them.
func TestLinks(t *testing.T) {
	links := 0
	eachFile(t, ".", func(name string, data []byte) {
		if strings.HasPrefix(name, "docs/") && strings.Contains(string(data), "\n<<<<<<< ") {
			t.Errorf("%s: has the marks of a merge", name)
		}
		if filepath.Ext(name) != ".md" || strings.Contains(name, "testdata/") || strings.HasPrefix(name, "templates/") {
			return
		}
		for _, m := range mdLink.FindAllStringSubmatch(mdFence.ReplaceAllString(string(data), ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			target := filepath.Join(root, filepath.Dir(name), file)
			if file == "" {
				target = filepath.Join(root, name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: no such file", name, m[1])
			} else if anchor != "" && !headings(t, target)[anchor] {
				t.Errorf("%s: %s: no such heading", name, m[1])
			}
		}
	})
	const least = 60
	if links < least {
		t.Errorf("only %d links found", links)
	}
}

// TestPagesNamed checks that each page of docs/ is there that the program, its templates, its tests or its manual name.
func TestPagesNamed(t *testing.T) {
	named := 0
	eachFile(t, ".", func(name string, data []byte) {
		if strings.Contains(name, "internal/exchange/") || strings.Contains(name, "internal/contract/") ||
			strings.Contains(name, "internal/outline/testdata/") {
			return // these name documents of other projects
		}
		for _, page := range pageName.FindAllString(strings.ReplaceAll(string(data), `\-`, "-"), -1) {
			if _, err := os.Stat(filepath.Join(root, page)); err == nil {
				named++
			} else if filepath.Ext(name) != ".txtar" && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s names %s, which is not there", name, page)
			}
		}
	})
	const least = 60
	if named < least {
		t.Errorf("only %d pages named", named)
	}
}

// headings returns the anchors that a reader on the web gets of a document.
func headings(t *testing.T, file string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range mdHeading.FindAllStringSubmatch(mdFence.ReplaceAllString(string(data), ""), -1) {
		text := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		anchors[strings.ReplaceAll(text, " ", "-")] = true
	}
	return anchors
}

// eachFile reads each file of text below a directory of the repository.
func eachFile(t *testing.T, dir string, fn func(name string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".md", ".go", ".txtar", ".1", ".yaml", ".yml", ".json", ".sh":
		default:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		fn(filepath.ToSlash(name), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFindingsExplained checks that docs/doctor.md has each code that a finding about a history, a record or the
// surroundings of a plan can have.
func TestFindingsExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	const word = `"([a-z]+(?:-[a-z]+)*)"`
	code := regexp.MustCompile(`\b(?:report|tooMany|bad)\(` + word + `|\b[cC]ode\w*:?(?:, \w+)? :?=? ?` + word)
	found := map[string]bool{}
	for _, dir := range []string{"internal/audit", "internal/setup"} {
		eachFile(t, dir, func(name string, data []byte) {
			if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return
			}
			for _, m := range code.FindAllStringSubmatch(string(data), -1) {
				found[m[1]+m[2]] = true
			}
		})
	}
	for name := range found {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/doctor.md does not explain %s", name)
		}
	}
	const least = 40
	if len(found) < least {
		t.Errorf("only %d codes found: %v", len(found), found)
	}
}

// TestMapPlaces checks that there is each file and folder which docs/map.md says to look in.
func TestMapPlaces(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "map.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(page), "## Where a change belongs")
	places := 0
	for _, m := range regexp.MustCompile("`((?:bench|cmd|docs|hooks|internal|templates)/[^` ]*)`").FindAllStringSubmatch(rows, -1) {
		places++
		if found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil || len(found) == 0 {
			t.Errorf("docs/map.md names %s, which is not there", m[1])
		}
	}
	const least = 50
	if places < least {
		t.Errorf("docs/map.md names %d places", places)
	}
}
