package check

import (
	"encoding/json"
	"strings"

	"gitwf/internal/pattern"
)

// manifests, and nothing else, say what a repository is made with and how it checks itself, the most certain first.
var manifests = []struct {
	file, stack, line string
	has               func(text string) bool
}{
	{"go.mod", "Go", "go test ./...", nil},
	{"package.json", "Node.js", "npm test", hasTestScript},
	{"Cargo.toml", "Rust", "cargo test", nil},
	{"pytest.ini", "Python", "pytest", nil},
	{"pyproject.toml", "Python", "pytest", func(text string) bool { return strings.Contains(text, "pytest") }},
	{"setup.cfg", "Python", "pytest", func(text string) bool { return strings.Contains(text, "[tool:pytest]") }},
	{"Makefile", "make", "make test", func(text string) bool { return testTarget.Get().MatchString(text) }},
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

// Own is the repository's own check, as its manifests say it, "" if they say none; stack is what it is made with,
// each with its file. proposed is the line that a text for agents names instead, which only a person can choose. read
// reads a file at the repository's top, and reports whether there is one.
func Own(read func(name string) (text string, there bool)) (line string, stack []string, proposed, from string) {
	for _, m := range manifests {
		text, there := read(m.file)
		if there {
			stack = append(stack, m.stack+", "+m.file)
		}
		if there && line == "" && (m.has == nil || m.has(text)) {
			line = m.line
		}
	}
	for lock, runner := range map[string]string{"pnpm-lock.yaml": "pnpm test", "yarn.lock": "yarn test"} {
		if _, there := read(lock); there && line == "npm test" {
			line = runner
		}
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		text, _ := read(name)
		if m := testWords.Get().FindStringSubmatch(text); m != nil && m[1] != line {
			return line, stack, m[1], name
		}
	}
	return line, stack, "", ""
}
