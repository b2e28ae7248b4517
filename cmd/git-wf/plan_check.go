package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/pattern"
)

// manifests say how a repository checks itself, the most certain first. Nothing else is read for it.
var manifests = []struct {
	file, line string
	has        func(text string) bool
}{
	{"go.mod", "go test ./...", nil},
	{"package.json", "npm test", hasTestScript},
	{"Cargo.toml", "cargo test", nil},
	{"pytest.ini", "pytest", nil},
	{"pyproject.toml", "pytest", func(text string) bool { return strings.Contains(text, "pytest") }},
	{"setup.cfg", "pytest", func(text string) bool { return strings.Contains(text, "[tool:pytest]") }},
	{"Makefile", "make test", func(text string) bool { return testTarget.Get().MatchString(text) }},
}

var (
	testTarget = pattern.Compile(`(?m)^test\s*:(?:[^=]|$)`)
	testWords  = pattern.Compile("`((?:npm|pnpm|yarn|bun|go|cargo|make|just|pytest|python3?|uv|poetry|mvn|gradle|" +
		"\\./gradlew|dotnet|mix|bundle|rake|tox|nox)\\b[^`\\n]*\\b(?:test|check|pytest|rspec|verify)\\b[^`\\n]*)`")
)

func hasTestScript(text string) bool {
	var m struct {
		Scripts map[string]string `json:"scripts"`
	}
	return json.Unmarshal([]byte(text), &m) == nil && m.Scripts["test"] != "" &&
		!strings.Contains(m.Scripts["test"], "no test specified")
}

// ownCheck is the repository's own check, as its manifests say it, "" if they say none; proposed is the line that a
// text for agents names instead, which only a person can choose.
func ownCheck(top string) (line, proposed, from string) {
	if top == "" {
		return "", "", ""
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", "", ""
	}
	defer root.Close()
	read := func(name string) (string, bool) {
		const most = 1 << 20
		if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > most {
			return "", false
		}
		data, err := root.ReadFile(name)
		return string(data), err == nil
	}
	for _, m := range manifests {
		if text, ok := read(m.file); ok && (m.has == nil || m.has(text)) {
			line = m.line
			if m.file == "package.json" {
				for lock, runner := range map[string]string{"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"} {
					if _, err := os.Stat(filepath.Join(top, lock)); err == nil {
						line = runner + " test"
					}
				}
			}
			break
		}
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if text, ok := read(name); ok {
			if m := testWords.Get().FindStringSubmatch(text); m != nil && m[1] != line {
				return line, m[1], name
			}
		}
	}
	return line, "", ""
}
