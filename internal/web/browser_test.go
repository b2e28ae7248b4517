package web_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
)

// These tests run browsertest/*.mjs in a real browser against a real git wf ui. They need a Chromium on PATH, node, and
// in $GIT_WF_TEST_TOOLS the npm packages of browsertest/package.json (.ci/tools puts them there). With
// $GIT_WF_TEST_SHOTS they write the documentation's pictures to that directory. With $GIT_WF_TEST_STRICT_TIMES they
// check the times that are promised for an otherwise idle machine.

// surroundings finds what the tests need, or skips them.
func surroundings(t *testing.T) (env []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the plan's commands need a POSIX shell")
	}
	tool.Need(t, "node")
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if chromium == "" && tool.Broken(name) == "" {
			chromium = tool.Need(t, name)
		}
	}
	if chromium == "" {
		t.Skip("needs a Chromium")
	}
	tools := os.Getenv("GIT_WF_TEST_TOOLS")
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(tools, "node_modules", name)); tools == "" || err != nil {
			t.Skipf("needs the npm package %s below $GIT_WF_TEST_TOOLS (.ci/tools DIR)", name)
		}
	}
	shots := os.Getenv("GIT_WF_TEST_SHOTS")
	if shots != "" && !filepath.IsAbs(shots) { // below the top of the module, where the tests are started
		var err error
		if shots, err = filepath.Abs(filepath.Join("..", "..", shots)); err != nil {
			t.Fatal(err)
		}
	}
	env = []string{"SHOTS=" + shots, "STRICT_TIMES=" + os.Getenv("GIT_WF_TEST_STRICT_TIMES")}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "WF_") {
			env = append(env, kv)
		}
	}
	home := t.TempDir()
	config := filepath.Join(home, "gitconfig")
	text := "[user]\n\tname = Ann Author\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return append(env, "HOME="+home, "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1", "TOOLS="+tools,
		"CHROMIUM="+chromium, "SCRATCH="+t.TempDir(), "LANG=en_US.UTF-8")
}

// lab is a repository with the program that works on it.
type lab struct {
	t       *testing.T
	env     []string
	dir     string
	program string
}

func newLab(t *testing.T, env []string) *lab {
	t.Helper()
	l := &lab{t: t, env: env, dir: filepath.Join(t.TempDir(), "repo")}
	var err error
	if l.program, err = program(); err != nil {
		t.Fatal(err)
	}
	l.do(".", "git", "init", "-q", l.dir)
	l.do(l.dir, "git", "commit", "-q", "--allow-empty", "-m", "first")
	l.wf("init")
	return l
}

// program builds git-wf once for all tests, in a directory that TestMain removes.
var program = sync.OnceValues(func() (string, error) {
	var err error
	if programDir, err = os.MkdirTemp("", "git-wf-web-"); err != nil {
		return "", err
	}
	to := filepath.Join(programDir, "git-wf")
	if out, err := exec.Command("go", "build", "-ldflags", "-X main.assumed=person", "-o", to, "gitwf/cmd/git-wf").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build git-wf: %w\n%s", err, out)
	}
	return to, nil
})

var programDir string // "" unless a test asked for the program

func TestMain(m *testing.M) {
	code := repotest.InMemory{M: m}.Run()
	if programDir != "" {
		if err := os.RemoveAll(programDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

func (l *lab) do(dir string, args ...string) {
	l.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, l.env
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (l *lab) wf(args ...string) {
	l.t.Helper()
	l.do(l.dir, append([]string{l.program}, args...)...)
}

func (l *lab) write(name, content string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(content), 0o666); err != nil {
		l.t.Fatal(err)
	}
}

// serve starts git wf ui and returns the address that it prints.
func (l *lab) serve() string {
	l.t.Helper()
	cmd := exec.Command(l.program, "ui", "--addr", "127.0.0.1:0", "--no-open")
	cmd.Dir, cmd.Env = l.dir, l.env
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			l.t.Errorf("git wf ui, interrupted: %v\n%s", err, said.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		l.t.Fatalf("git wf ui printed %q: %v\n%s", line, err, said.String())
	}
	return strings.TrimSpace(line)
}

// play runs one script and logs its output.
func (l *lab) play(script string, env ...string) {
	l.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 8*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("browsertest", script))
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(slices.Concat(l.env, env), "ADDRESS="+l.serve(), "REPO="+l.dir, "GIT_WF="+l.program)
	out, err := cmd.CombinedOutput()
	l.t.Logf("%s", out)
	if err != nil {
		l.t.Fatalf("%s: %v", script, err)
	}
}

// release is the plan of testdata, with a note that was rejected and redone, and a page with scripts.
func (l *lab) release() {
	l.t.Helper()
	l.planned("plan.yaml")
	run := exec.Command(l.program, "run")
	run.Dir, run.Env = l.dir, l.env
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != 1 && run.ProcessState.ExitCode() != 3 {
		l.t.Fatalf("git wf run: %v\n%s", err, out)
	}
	l.write("note.md", "# Note\n\nlive page\n")
	l.wf("submit", "NOTE-1", "note.md")
	l.wf("review", "NOTE-1", "--reject", "--criterion", "A2=fail:clumsy", "-m", "Name the faster status too.")
	l.write("note.md", "# Note\n\n- live page\n- faster status\n\n<script>document.title = 'owned'</script> [x](javascript:alert(1))\n")
	l.wf("submit", "NOTE-1", "note.md")
}

func TestPersonInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.release()
	// PAGE-1 needs an approved note; the script's second process hands it in after that.
	l.play("person.mjs", "PAGE_DIR="+l.pageDir())
}

// pageDir is a directory next to the repository with what PAGE-1 hands in.
func (l *lab) pageDir() string {
	l.t.Helper()
	dir := filepath.Join(filepath.Dir(l.dir), "page")
	document, err := os.ReadFile("browsertest/testdata/page.html")
	if err == nil {
		err = os.Mkdir(dir, 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "index.html"), document, 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "page.css"), []byte("h1 { color: #1a7a43; }\n"), 0o666)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return dir
}

func TestChangeInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.do(l.dir, "mkdir", "src")
	l.write("src/calc.sh", "# a calculator\n# it calculates\n")
	l.write("src/old.txt", "one\ntwo\nthree\n")
	l.write("src/gone.txt", "gone\n")
	l.do(l.dir, "git", "add", "src")
	l.do(l.dir, "git", "commit", "-q", "-m", "files")
	l.write("plan.yaml", `
title: Calculator
tasks:
  - task_id: ADD-1
    title: Add
    description: The calculator adds.
    estimated_person_days: 0.5
    run: |
      name=badname; test -z "$WF_FEEDBACK" || name=add
      printf '# a calculator\n%s() { echo $(($1 + $2)); }\n# end\n' $name >src/calc.sh
      chmod +x src/calc.sh; git mv src/old.txt 'src/new name.txt'; git rm -q src/gone.txt; printf '\0\1' >src/logo.bin
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria:
      - {id: A1, statement: It is a script., run: sh -n src/calc.sh}
      - {id: A2, statement: It reads well.}
`)
	l.wf("trust", "--code")
	run := func() {
		cmd := exec.Command(l.program, "run")
		cmd.Dir, cmd.Env = l.dir, l.env
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 {
			l.t.Fatalf("git wf run: %v\n%s", err, out)
		}
	}
	l.wf("plan", "-f", "plan.yaml")
	run()
	l.wf("review", "ADD-1", "--reject", "--criterion", "A2=fail:src/calc.sh:2: name it well")
	run()
	l.play("change.mjs")
}

func TestTeamInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.planned("team.yaml")
	l.play("team.mjs")
}

func TestLifeOfATaskInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.planned("life.yaml")
	l.play("life.mjs")
}

func TestPlanByHandInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.planned("byhand.yaml")
	l.play("byhand.mjs")
}

// planned makes a plan of testdata.
func (l *lab) planned(name string) {
	l.t.Helper()
	plan, err := filepath.Abs("browsertest/testdata/" + name)
	if err != nil {
		l.t.Fatal(err)
	}
	l.wf("plan", "-f", plan)
}

func TestRestartInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.release()
	l.play("restart.mjs")
}

func TestAttacksInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	l.release()
	l.wf("review", "NOTE-1", "--approve")
	l.wf("submit", "PAGE-1", l.pageDir())
	l.play("attacks.mjs")
}

func TestLargePlanInTheBrowser(t *testing.T) {
	t.Parallel()
	l := newLab(t, surroundings(t))
	var b strings.Builder
	b.WriteString("title: Large\nconfig: {min_score: 1}\nroot_acceptance_criteria: [{id: R1, statement: Each piece has its file}]\ntasks:\n")
	for i := range 1000 {
		if i%10 == 0 {
			fmt.Fprintf(&b, "  - task_id: G-%d\n    title: Part %d\n    tasks:\n", i/10+1, i/10+1)
		}
		fmt.Fprintf(&b, "      - task_id: IMPL-%d\n        title: Piece %d of the work\n        description: Piece %d.\n        estimated_person_days: 1\n        covers: [R1]\n"+
			"        deliverable_spec: {filename: f%d.txt}\n        acceptance_criteria: [{id: A1, statement: The file has 3 lines}]\n", i+1, i+1, i+1, i+1)
		if i%10 > 0 {
			fmt.Fprintf(&b, "        depends_on: [IMPL-%d]\n", i)
		} else if i >= 20 {
			fmt.Fprintf(&b, "        depends_on: [IMPL-%d]\n", i-10)
		}
	}
	l.write("plan.yaml", b.String())
	l.wf("plan", "-f", "plan.yaml")
	l.wf("next", "IMPL-1", "--claim")
	l.write("f11.txt", "one\ntwo\n")
	l.wf("submit", "IMPL-11", "f11.txt")
	l.wf("review", "IMPL-11", "--reject", "--criterion", "A1=fail:two lines", "-m", "Add the third.")
	l.play("large.mjs")
}
