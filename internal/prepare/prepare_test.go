package prepare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/repotest/tool"
)

// step is one entry of pre_analysis.
func step(pairs ...string) any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func setup(t *testing.T, steps ...any) Setup {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("command lines of a shell")
	}
	s := Setup{
		Task: &plan.Task{
			TaskID: "IMPL-2", NodeType: plan.Action, ParentTaskID: "IMPL-1", DependsOn: []plan.TaskID{"IMPL-1.1"},
			Context: map[string]any{"focus_paths": []any{"src", "my docs"},
				"shared_context": map[string]any{"word": "needle"}},
			FlowControl: map[string]any{"pre_analysis": steps},
		},
		Plan: "WFS-shop", Dir: t.TempDir(), Results: t.TempDir(), Timeout: 20 * time.Second,
		Environ: process.Environ(os.Environ(), "WF_TASK=IMPL-2"),
	}
	write(t, s.Dir, "src/a.txt", "a needle here\n")
	write(t, s.Dir, "my docs/b.md", "another needle\n")
	return s
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, s Setup) Outcome {
	t.Helper()
	out, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shown has result and output of each step.
func shown(o Outcome) string {
	var all []string
	for _, s := range o.Steps {
		all = append(all, fmt.Sprintf("%s %s %q", s.Name, s.Record.Result, s.Output))
	}
	return strings.Join(all, "\n")
}

func TestSteps(t *testing.T) {
	tests := []struct {
		name  string
		steps []any
		want  string
	}{
		{"in order, with what came before", []any{
			step("step", "a", "command", "bash(cat src/a.txt)", "output_to", "found"),
			step("step", "b", "command", `echo "<[found]>" | tr a-z A-Z`),
		}, "a done \"a needle here\"\nb done \"<A NEEDLE HERE>\""},
		{"properties of the task", []any{step("step", "a", "command",
			`printf '%s|' [parent] [depends_on] [focus_paths] [shared_context.word] WFS-[session-id]`)},
			`a done "IMPL-1|IMPL-1.1|src|my docs|needle|WFS-shop|"`},
		{"several commands", []any{step("step", "a", "command", "printf 1"),
			map[string]any{"step": "b", "commands": []any{"printf 2", "Read(src/a.txt)", "Extract(x)"}}},
			"a done \"1\"\nb done \"2\\na needle here\""},
		{"search", []any{step("step", "a", "command", "Search(another|here$)"),
			step("step", "b", "command", "Grep([shared_context.word], src)"), step("step", "c", "command", "Glob(**/*.md)")},
			"a done \"my docs/b.md:1:another needle\\nsrc/a.txt:1:a needle here\"\nb done \"src/a.txt:1:a needle here\"\nc done \"my docs/b.md\""},
		{"for the agent", []any{step("step", "a", "action", "Look around"), "Look again",
			step("step", "c", "command", "Explore it freely")},
			"a given \"\"\nstep 2 given \"\"\nc given \"\""},
		{"bash where it says so", []any{step("step", "a", "command", `bash(x=(1 2); echo "${#x[@]}")`)}, `a done "2"`},
		{"optional", []any{step("step", "a", "command", "echo half; exit 3", "output_to", "x", "on_error", "skip_optional"),
			step("step", "b", "command", `echo "<[x]>"`)},
			"a skipped \"\"\nb done \"<>\""},
		{"fails", []any{step("step", "a", "command", "echo why; exit 3"), step("step", "b", "command", "echo never")},
			`a failed "why"`},
		{"fails twice", []any{step("step", "a", "command", "echo . >>n; wc -l <n | tr -d ' '; exit 1", "on_error",
			"retry_once")}, `a failed "2"`},
		{"fails once", []any{step("step", "a", "command", "echo . >>n; test $(wc -l <n) = 2 && echo ok", "on_error",
			"retry_once")}, `a done "ok"`},
		{"a person's turn", []any{step("step", "a", "command", "exit 1", "on_error", "manual_intervention")}, `a failed ""`},
		{"a hyphen from a step", []any{step("step", "a", "command", "echo --help", "output_to", "x"),
			step("step", "b", "command", "cat [x]")}, "a done \"--help\"\nb failed \"\""},
		{"out of the directory", []any{step("step", "a", "command", "Read(../x)")}, `a failed ""`},
		{"an absolute path", []any{step("step", "a", "command", "Read(/etc/passwd)")}, `a failed ""`},
		{"nothing matches", []any{step("step", "a", "command", "Search(nowhere to be found)")}, `a failed ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasPrefix(tt.name, "bash") {
				tool.Need(t, "bash")
			}
			if got := shown(run(t, setup(t, tt.steps...))); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestWhoDecides(t *testing.T) {
	asks := setup(t, step("step", "a", "command", "exit 4", "on_error", "manual_intervention", "output_to", "x"),
		step("step", "b", "command", "echo [x]"))
	out := run(t, asks)
	if out.Failed == nil || !out.Ask || *out.Failed.Record.ExitCode != 4 || out.Failed.Record.Problem != "exit status 4" {
		t.Errorf("%+v", out.Failed)
	}
	asks.Answers = map[string]string{"a": "use v2"}
	if got := shown(run(t, asks)); got != "a answered \"use v2\"\nb done \"use v2\"" {
		t.Errorf("got %s", got)
	}
	if out := run(t, setup(t, step("step", "a", "command", "exit 4"))); out.Failed == nil || out.Ask {
		t.Errorf("%+v", out)
	}
}

// A step's output reaches the next one as data: it is never run, split or taken for a pattern.
func TestHostileOutput(t *testing.T) {
	hostile := []string{
		"'; touch pwned; '", "\"; touch pwned; \"", "$(touch pwned)", "`touch pwned`", "a\ntouch pwned\nb", "; touch pwned",
		"| touch pwned", "&& touch pwned",
		"* ? [a-z] ~", "  two  spaces ", "\\", "\\\\'\"", "${IFS}touch${IFS}pwned", "%s%n", "'\"${WF_VAR_x}\"'",
		"[x] [parent]", "\x00touch pwned\x00", "\x1b[31mred\x1b[0m", "é 完成 \xff",
	}
	quotings := map[string]string{
		"unquoted": `set -- a [x] b; printf '%s' "$1 $2 $3"; test $# = 3`, "double": `printf '%s' "a [x] b"`,
		"single": `printf '%s' 'a [x] b'`,
		"bash":   `bash(printf '%s' "a [x] b")`,
	}
	for i, value := range hostile {
		for name, line := range quotings {
			t.Run(fmt.Sprintf("%d %s", i, name), func(t *testing.T) {
				s := setup(t, step("step", "a", "command", "cat hostile", "output_to", "x"), step("step", "b", "command", line))
				write(t, s.Dir, "hostile", value)
				out := run(t, s)
				if out.Failed != nil {
					t.Fatalf("%+v", out.Failed)
				}
				want := strings.TrimRight("a "+out.Steps[0].Output+" b", "\n")
				if got := out.Steps[1].Output; got != want {
					t.Errorf("got  %q\nwant %q", got, want)
				}
				if _, err := os.Stat(filepath.Join(s.Dir, "pwned")); err == nil {
					t.Error("the output was run")
				}
			})
		}
	}
}

// A megabyte is too long for an environment variable: the next step gets both ends there, and everything in a file. The
// record keeps even less.
func TestLongOutput(t *testing.T) {
	s := setup(t,
		step("step", "a", "command", "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last", "output_to", "x"),
		step("step", "b", "command", `echo "[x]" | wc -c; wc -c <"$WF_FILE_x"; echo "[x]" | tail -n 1`),
		step("step", "c", "command", "tr '\\0' '\\n' </dev/zero | sed 's/^/a line of some length/' | head -n 130000"),
	)
	out := run(t, s)
	if out.Failed != nil {
		t.Fatalf("%+v", out.Failed)
	}
	fields := strings.Fields(out.Steps[1].Output)
	if length := 0; len(fields) != 3 || fields[1] != "1000005" || fields[2] != "last" {
		t.Errorf("got %v", fields)
	} else if _, err := fmt.Sscan(fields[0], &length); err != nil || length > maxVariable()+1 ||
		length < maxVariable()-100 {
		t.Errorf("got %v", fields)
	}
	if n := len(out.Steps[2].Output); n > MaxOutput {
		t.Errorf("%d bytes kept", n)
	}
	total := 0
	for _, r := range out.Records() {
		if len(r.Output) > maxRecorded {
			t.Errorf("%d bytes of %s recorded", len(r.Output), r.Step)
		}
		total += len(r.Output)
	}
	if total > maxRecords {
		t.Errorf("%d bytes recorded", total)
	}
}

func TestTimeout(t *testing.T) {
	s := setup(t, map[string]any{"step": "a", "command": "echo begun; sleep 1000", "timeout_seconds": int64(2)})
	began := time.Now()
	out := run(t, s)
	if out.Failed == nil || !strings.HasPrefix(out.Failed.Record.Problem, "stopped because it still ran after 2s") ||
		out.Failed.Output != "begun" {
		t.Errorf("%+v", out.Failed)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, setup(t, step("step", "a", "command", "sleep 1000", "on_error", "skip_optional"))); err == nil {
		t.Error("no error")
	}
}

// A link in the repository leads Read and Search nowhere else.
func TestLinksStayInside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("needle of others\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := setup(t, step("step", "a", "command", "Search(of others)", "on_error", "skip_optional"),
		step("step", "b", "command", "Read(link)"))
	if err := os.Symlink(secret, filepath.Join(s.Dir, "link")); err != nil {
		t.Skip(err)
	}
	out := run(t, s)
	if out.Failed == nil || strings.Contains(shown(out), "of others") {
		t.Errorf("got %s", shown(out))
	}
}
