package outline

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestShellLine runs what is made of an expectation, on commands that meet it and on commands that do not.
func TestShellLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("run lines are for a POSIX shell")
	}
	for _, c := range []struct{ expect, good, bad string }{
		{"", "true", "false"},
		{"exit 0", "true", "false"},
		{"exits with code 0", "true", "false"},
		{"退出码 0", "true", "exit 3"},
		{"全部通过", "true", "false"},
		{"all pass", "true", "false"},
		{"exit 2", "sh -c 'exit 2'", "true"},
		{"non-zero", "false", "true"},
		{"非零退出", "false", "true"},
		{">=1", "echo 1", "echo 0"},
		{">=1", "printf 'a 7\\nb 9\\n'", "printf 'nothing\\n'"},
		{"≥ 80%", "echo 'TOTAL 120 4 97%'", "echo 'TOTAL 120 4 79%'"},
		{"<= 5", "printf '3 passed\\n'", "printf '9 passed in 1.02s\\n'"},
		{">= 2", "echo ' 12 chapter1.txt'", "echo ' 1 chapter12.txt'"},
		{"exit 0 and prints `ok`", "echo ok", "echo no"},
		{"exit 0 and prints `ok`", "echo ok", "sh -c 'echo ok; exit 1'"},
		{"exit 0, output contains \"ok\"", "echo ok", "sh -c 'echo ok; exit 1'"},
		{"exit 0 且 ≥ 3", "echo 3", "echo 2"},
		{"退出码 0，不包含 `warn`", "echo fine", "echo warn"},
		{"exit 0, no errors", "true", "false"},
		{"exit 0 (quickly)", "true", "false"},
		{"exit 0 (2 passed)", "echo 2 passed", "echo 1 passed"},
		{"== 3", "echo 3", "echo 4"},
		{"0", "echo 0; false", "echo 1"},
		{"至少 10 行", "awk 'BEGIN { while (i++ < 10) print }' | wc -l", "awk 'BEGIN { while (i++ < 9) print }' | wc -l"},
		{"不超过 5", "echo 5", "echo 5.1"},
		{"<= 2048", "echo 2048", "echo 2049"},
		{"!= 0", "echo 1", "echo 0"},
		{"returns 0", "echo 0", "echo 10"},
		{"at least `10`", "echo 12", "echo 9"},
		{"> -1", "echo 0", "echo -2"},
		{`contains "x y"`, "echo a x y b", "echo xy"},
		{"输出包含 `it's`", `echo "so it's"`, "echo its"},
		{`does not contain "warning"`, "echo fine", "echo a warning"},
		{"prints `done`", "echo done", "echo open"},
		{`"ok"`, "echo ok", "echo no"},
		{"无输出", "true", "echo x"},
		{"no matches", "grep nothing /dev/null", "echo found"},
		{"12 passed", "echo '== 12 passed in 1s =='", "echo '3 passed'"},
		{"2 passed", "echo '2 passed'", "echo '12 passed'"},
		{"2 passed", "echo '2 passed'", "sh -c 'echo 2 passed, 1 failed; exit 1'"},
		{"exit 0", "true # a remark", "false # a remark"},
		{">= 2", "printf 'a\\nb\\n' | wc -l # count", "printf 'a\\n' | wc -l"},
	} {
		for _, run := range []struct {
			command string
			want    bool
		}{{c.good, true}, {c.bad, false}} {
			line, decided := shellLine(run.command, c.expect)
			if !decided {
				t.Errorf("%q: no shell line", c.expect)
				continue
			}
			// As Plan puts it: behind a change of directory.
			whole := `cd "$PWD" && ` + group(line)
			out, err := exec.Command("sh", "-c", whole).CombinedOutput()
			if (err == nil) != run.want {
				t.Errorf("%q of %q: %v, want success %v\n%s\n%s", c.expect, run.command, err, run.want, whole, out)
			}
		}
	}
}

// TestUndecided: what no shell can tell is left to a reviewer; there is no line that checks less.
func TestUndecided(t *testing.T) {
	for _, expect := range []string{"the page looks right", "连续执行两次结果一致", "succeeds and the list shows the title",
		"HTTP 200 with a body",
		"p95 < 200 ms", "< 200 ms", "coverage >= 80%", "覆盖率 ≥ 80%", "exit 0 and coverage >= 80%", "exit 0 within 30 s",
		">= 12 passed", "至少 3 行", "0 errors, 0 warnings",
		"exit 0 (coverage >= 80%)",
	} {
		line, decided := shellLine("true", expect)
		if decided || line != "" {
			t.Errorf("%q: %q, decided %v", expect, line, decided)
		}
	}
}

// TestShellLineQuotes: what an expectation says can't get out of its quotes.
func TestShellLineQuotes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("run lines are for a POSIX shell")
	}
	line, _ := shellLine("true", `contains "'; echo escaped; '"`)
	out, _ := exec.Command("sh", "-c", line).CombinedOutput()
	if strings.Contains(string(out), "escaped") {
		t.Errorf("%s printed %s", line, out)
	}
}

func TestLooksCommand(t *testing.T) {
	for code, want := range map[string]bool{
		"go test ./...": true, "pytest": true, "pytest -q": true, "npm run build": true, "./scripts/check.sh": true,
		"FOO=1 make test":            true,
		".venv/bin/python -m pytest": true, "grep -c x y": true, "$ ls out": true, `.\gradlew.bat test`: true,
		"test -s a.txt": true, "python3 tools/x.py": true,
		"scripts/run.sh --all": true, "[ -f a ] && echo ok": true, "node test/a.js": true, "git diff --exit-code": true,
		"README.md": false, "src/parser.go": false, "POST /api/meetings": false, "GET /health": false, "status": false,
		"go": false, "node": false, "TODO": false, "user_id = 1": false,
		"file name": false, "test coverage": false, "<cmd>": false, "--flag": false, "MAX_SIZE": false, "a: b": false,
		"make the board": false, "tests/test_a.py::test_b": false,
		"docs/x.md": false, "time to first byte": false, "find the file": false, "": false, "/exit": false,
		"lib/tool.py": false,
	} {
		if got := looksCommand(code, false); got != want {
			t.Errorf("looksCommand(%q) = %v", code, got)
		}
	}
}

func TestCommandsIn(t *testing.T) {
	for _, c := range []struct{ text, command, expect string }{
		{"`go vet ./...` -> exit 0", "go vet ./...", "exit 0"},
		{"`go vet ./...` → 全部通过", "go vet ./...", "全部通过"},
		{"`wc -l a` => 0", "wc -l a", "0"},
		{"`wc -l a` → >=1。其余不变", "wc -l a", ">=1"},
		{"运行 `make ci`，输出包含 `ok`", "make ci", "输出包含 `ok`"},
		{"``grep '`' a`` -> 3", "grep '`' a", "3"},
		{"`npm test -> exit 0`", "npm test", "exit 0"},
		{"rename `a.txt` -> `b.txt`", "", ""},
		{"`renderer` passes the value", "", ""},
		{"(`make`)", "make", ""},
		{"`tool check x` -> exit 0", "tool check x", "exit 0"},
		{"`scripts/a.sh` exits 0", "scripts/a.sh", "exits 0"},
	} {
		found := commandsIn(spans(c.text), false)
		command, expect := "", ""
		if len(found) > 0 {
			command, expect = found[0].command, found[0].expect
		}
		if command != c.command || expect != c.expect {
			t.Errorf("%s: %q, %q; want %q, %q", c.text, command, expect, c.command, c.expect)
		}
	}
}
