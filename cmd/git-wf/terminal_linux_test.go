package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/repotest/tool"
	"gitwf/internal/terminal"
)

// tty is a pseudo-terminal with a program on it, and what a person would see there.
type tty struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd
	before *unix.Termios
	ended  chan error

	mu     sync.Mutex
	raw    []byte
	screen [][]string // the cell right of a wide character is ""
	row    int
	column int
	rest   []byte // of a sequence that has not come whole yet
}

// ttyRepo is a repository with a plan that waits for a person's review of NOTE-1 v2.
type ttyRepo struct {
	t   *testing.T
	dir string
	env []string
}

const ttyPlan = `
title: 發布說明
config: {min_score: 60}
root_acceptance_criteria: [{id: R1, statement: It is there}]
tasks:
  - task_id: WORDS-1
    title: Words
    tasks:
      - task_id: NOTE-1
        title: 說明文字 and more
        estimated_person_days: 1
        covers: [R1]
        deliverable_spec: {filename: note.md}
        acceptance_criteria:
          - {id: A1, statement: It names 每個 change}
          - {id: A2, statement: It is short, severity: SHOULD}
      - task_id: LIST-1
        title: A list whose title is so long that it can not stand whole in a terminal of eighty columns
        estimated_person_days: 1
        covers: [R1]
        deliverable_spec: {filename: list.txt}
        acceptance_criteria: [{id: A1, statement: It is a list}]
  - task_id: POST-1
    title: Post
    estimated_person_days: 1
    covers: [R1]
    depends_on: [NOTE-1]
    deliverable_spec: {filename: post.txt}
    acceptance_criteria: [{id: A1, statement: It is short}]
`

func newTTYRepo(t *testing.T) *ttyRepo {
	t.Helper()
	home := t.TempDir()
	r := &ttyRepo{t: t, dir: filepath.Join(t.TempDir(), "repo")}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "WF_") && !strings.HasPrefix(name, "LC_") &&
			name != "NO_COLOR" && name != "LANG" {
			r.env = append(r.env, kv)
		}
	}
	config := filepath.Join(home, "gitconfig")
	if err := os.WriteFile(config,
		[]byte("[user]\n\tname = Ann Author\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "HOME="+home, "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1", "TERM=xterm",
		"LANG=en_US.UTF-8")
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q")
	r.git("commit", "-q", "--allow-empty", "-m", "first")
	r.write("plan.yaml", ttyPlan)
	r.wf("plan", "-f", "plan.yaml")
	r.write("note.md", "# Note\n\none\n")
	r.wf("submit", "NOTE-1", "note.md")
	r.wf("review", "NOTE-1", "--reject", "--criterion", "A1=fail:names none", "-m", "Name them.")
	r.write("note.md", "# Note\n\none\ntwo\n")
	r.wf("submit", "NOTE-1", "note.md")
	return r
}

func (r *ttyRepo) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666); err != nil {
		r.t.Fatal(err)
	}
}

func (r *ttyRepo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r *ttyRepo) wf(args ...string) { r.t.Helper(); r.git(append([]string{"wf"}, args...)...) }

// on starts a program on a terminal of this size.
func (r *ttyRepo) on(columns, rows int, env []string, args ...string) *tty {
	r.t.Helper()
	t := &tty{t: r.t, ended: make(chan error, 1)}
	var err error
	if t.master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, fs.ErrPermission) {
		r.t.Skip("there is no pseudo-terminal")
	} else if err != nil {
		r.t.Fatal(err)
	}
	fd := int(t.master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		r.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		r.t.Fatal(err)
	}
	if t.slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		r.t.Fatal(err)
	}
	t.resize(columns, rows)
	if t.before, err = unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS); err != nil {
		r.t.Fatal(err)
	}
	t.cmd = exec.Command(args[0], args[1:]...)
	t.cmd.Dir, t.cmd.Env = r.dir, append(r.env, env...)
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = t.slave, t.slave, t.slave
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := t.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go t.read()
	go func() { t.ended <- t.cmd.Wait() }()
	r.t.Cleanup(func() {
		_ = t.cmd.Process.Kill()
		_ = t.slave.Close()
		_ = t.master.Close()
	})
	return t
}

func (t *tty) resize(columns, rows int) {
	t.t.Helper()
	t.mu.Lock()
	t.screen = nil
	for range rows {
		t.screen = append(t.screen, make([]string, columns))
	}
	t.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(t.master.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		t.t.Fatal(err)
	}
}

func (t *tty) read() {
	buf := make([]byte, 4096)
	for {
		n, err := t.master.Read(buf)
		if err != nil {
			return
		}
		t.mu.Lock()
		t.raw = append(t.raw, buf[:n]...)
		t.rest = append(t.rest, buf[:n]...)
		t.obey()
		t.mu.Unlock()
	}
}

var sequenceForm = pattern.Compile(`^\x1b\[[0-9;?]*[A-Za-z]`)

// obey does with the screen what a terminal does. It knows what the program may send, and complains about the rest.
func (t *tty) obey() {
	for len(t.rest) > 0 {
		if t.rest[0] == 0x1b {
			seq := sequenceForm.Get().Find(t.rest)
			if seq == nil {
				if len(t.rest) > 20 {
					t.t.Errorf("a strange sequence %q", t.rest[:20])
					t.rest = nil
				}
				return
			}
			t.rest = t.rest[len(seq):]
			t.sequence(string(seq[2:]))
			continue
		}
		if !utf8.FullRune(t.rest) {
			return
		}
		r, n := utf8.DecodeRune(t.rest)
		t.rest = t.rest[n:]
		switch w := terminal.Cells(string(r)); {
		case r == '\r':
			t.column = 0
		case r == '\n':
			if t.row++; t.row >= len(t.screen) {
				t.row = len(t.screen) - 1
				t.screen = append(t.screen[1:], make([]string, len(t.screen[0])))
			}
		case r >= ' ' && t.row < len(t.screen) && t.column+w <= len(t.screen[t.row]):
			t.screen[t.row][t.column] = string(r)
			if w == 2 {
				t.screen[t.row][t.column+1] = ""
			}
			t.column += w
		}
	}
}

func (t *tty) sequence(s string) {
	switch last := s[len(s)-1]; last {
	case 'm':
	case 'A':
		n := 1
		fmt.Sscanf(s, "%dA", &n)
		t.row = max(t.row-n, 0)
	case 'J':
		for row := t.row; row < len(t.screen); row++ {
			for i := range t.screen[row] {
				if row > t.row || i >= t.column {
					t.screen[row][i] = ""
				}
			}
		}
	default: // such as one that hides the cursor, or takes the whole screen over
		t.t.Errorf("an unknown sequence %q", s)
	}
}

// text is what is on the screen.
func (t *tty) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, row := range t.screen {
		line := ""
		for i, cell := range row {
			if cell == "" && i > 0 && terminal.Cells(row[i-1]) == 2 {
				continue
			} else if cell == "" {
				cell = " "
			}
			line += cell
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func (t *tty) press(keys string) {
	t.t.Helper()
	if _, err := t.master.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

// sees waits until the screen has all of the texts.
func (t *tty) sees(patterns ...string) string {
	t.t.Helper()
	return t.waits(func(text string) string {
		for _, p := range patterns {
			if !regexp.MustCompile(`(?m)` + p).MatchString(text) {
				return p
			}
		}
		return ""
	})
}

func (t *tty) waits(lacks func(string) string) string {
	t.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text := t.text()
		missing := lacks(text)
		if missing == "" {
			return text
		}
		if time.Now().After(end) {
			t.t.Fatalf("the screen has no %s:\n%s", missing, text)
		}
	}
}

// ends waits for the end of the program, and looks whether the terminal is as it was.
func (t *tty) ends(code int) {
	t.t.Helper()
	select {
	case err := <-t.ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.t.Fatal(err)
		}
		if got := t.cmd.ProcessState.ExitCode(); got != code {
			t.t.Errorf("exit code %d, want %d\n%s", got, code, t.text())
		}
	case <-time.After(time.Minute):
		t.t.Fatalf("it does not end:\n%s", t.text())
	}
	t.restored()
}

// restored compares the modes of the terminal with those before.
func (t *tty) restored() {
	t.t.Helper()
	now, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.t.Fatal(err)
	}
	if *now != *t.before {
		t.t.Errorf("the terminal has other modes than before: %v, not %v", *now, *t.before)
	}
}

func TestWatchOnATerminal(t *testing.T) {
	r := newTTYRepo(t)
	s := r.on(80, 24, nil, "git-wf", "status", "--watch")
	s.sees(`^WFS-發布說明  發布說明`, `0 of 3 done`, `NOTE-1  說明文字 and more  awaiting review`, `POST-1  Post  pending`,
		`^Waits for you$`, `git wf review NOTE-1$`)

	// What another process does is shown at once, in the same place.
	r.write("list.txt", "a list\n")
	r.wf("submit", "LIST-1", "list.txt")
	text := s.sees(`LIST-1  A list whose.*`, `git wf review LIST-1$`)
	if n := strings.Count(text, "0 of 3 done, "); n != 1 {
		t.Errorf("the status is on the screen %d times:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		if terminal.Cells(strings.TrimRight(line, "\n")) > 79 {
			t.Errorf("a row is too wide: %q", line)
		}
	}

	// A small terminal has the beginning, and what waits for you.
	s.resize(50, 10)
	r.wf("review", "NOTE-1", "--approve")
	s.sees(`1 of 3 done`, `^  \.\.\. and \d+ more lines: git wf status$`, `git wf submit POST-1 post.txt$`)

	// It ends below what it has shown.
	s.press("\x03")
	s.ends(130)
	s.sees(`git wf submit POST-1 post.txt`, `^interrupted`)
}

// While git wf run works, what it works on is shown with the time that it has taken.
func TestWatchARun(t *testing.T) {
	r := newTTYRepo(t)
	r.write("slow.yaml", "title: Slow\nconfig: {min_score: 1}\ntasks:\n  - task_id: SLOW-1\n    title: Slow\n    estimated_person_days: 1\n"+
		"    deliverable_spec: {filename: out.txt}\n    run: 'while ! test -e \"$WF_REPO/stop\"; do sleep 0.1; done; echo x > \"$WF_OUT/out.txt\"'\n"+
		"    acceptance_criteria: [{id: A1, statement: out.txt has 1 line, run: test -s out.txt}]\n")
	r.wf("plan", "-f", "slow.yaml")
	s := r.on(80, 24, nil, "git-wf", "status", "--watch")
	s.sees(`SLOW-1  Slow  ready`)
	run := exec.Command("git", "wf", "run", "-q")
	run.Dir, run.Env = r.dir, r.env
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	s.sees(`SLOW-1  Slow  in progress`, `^In work$`, `^  0:0[2-9]  SLOW-1  exec  Slow$`)
	r.write("stop", "")
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	if text := s.sees(`SLOW-1  Slow  done`, `1 of 1 done`); strings.Contains(text, "In work") {
		t.Errorf("nobody works any more:\n%s", text)
	}
	s.press("\x03")
	s.ends(130)
}

// While an agent plans, and works, that is shown with its time, and in the end what was spent.
func TestDoOnATerminal(t *testing.T) {
	r := newTTYRepo(t)
	r.write("agent.sh", `cat > /dev/null
while ! test -e "$(dirname "$0")/go-$WF_ROLE"; do sleep 0.1; done
case $WF_ROLE in
plan) cp "$(dirname "$0")/do.yaml" "$WF_OUT/plan.yaml" ;;
action) echo x > "$WF_OUT/out.txt" ;;
esac
echo '{"schema_version": 1, "result_type": "ARTIFACT"}'
`)
	r.write("do.yaml", "title: Do\nroot_acceptance_criteria: [{id: R1, statement: It is there}]\ntasks:\n  - task_id: DO-1\n    title: Do\n"+
		"    description: Something.\n    estimated_person_days: 1\n    covers: [R1]\n    deliverable_spec: {filename: out.txt}\n"+
		"    acceptance_criteria: [{id: A1, statement: out.txt has 1 line}]\n")
	r.git("config", "wf.agent.writer.kind", "command")
	r.git("config", "wf.agent.writer.command", "sh "+r.dir+"/agent.sh")
	r.git("config", "wf.planner", "writer")
	r.git("config", "wf.executor", "writer")
	s := r.on(100, 24, nil, "git-wf", "do", "Write something")
	s.sees(`^2 calls of agents expected`, `started by writer`, `^ +0:\d[4-9]  PLAN-1 +attempt by writer`, `0/0 done`)
	r.write("go-plan", "")
	s.sees(`git wf review PLAN-1$`)
	s.ends(fault.ExitWaiting)

	// A person who judges a version waits for its checks, and sees for how long.
	r.write("slow.yaml", "title: Slow\nconfig: {min_score: 1}\ntasks:\n  - task_id: SLOW-1\n    title: Slow\n    estimated_person_days: 1\n"+
		"    deliverable_spec: {filename: out.txt}\n"+
		"    acceptance_criteria: [{id: A1, statement: out.txt has 1 line, run: 'while test -s out.txt && ! test -e "+r.dir+"/go-check; do sleep 0.1; done; test -s out.txt'}, "+
		"{id: A2, statement: out.txt has 1 word}]\n")
	r.wf("plan", "-f", "slow.yaml")
	r.write("out.txt", "x\n")
	s = r.on(100, 24, nil, "git-wf", "submit", "SLOW-1", "out.txt")
	s.sees(`^ +0:\d[4-9]  SLOW-1 +review by checks`)
	s.press("\x03")
	s.ends(130)
	s = r.on(100, 24, nil, "git-wf", "review", "SLOW-1", "--approve")
	s.sees(`^Working: 0:\d[3-9]`)
	r.write("go-check", "")
	s.sees(`SLOW-1: approve v1`)
	s.ends(0)
}

func TestWatchEndsBySignals(t *testing.T) {
	r := newTTYRepo(t)
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
	}{{"terminate", syscall.SIGTERM}, {"interrupt", syscall.SIGINT}, {"hang up", syscall.SIGHUP}} {
		t.Run(tt.name, func(t *testing.T) {
			r := *r
			r.t = t
			s := r.on(80, 24, nil, "git-wf", "status", "--watch")
			s.sees(`NOTE-1`)
			if err := s.cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			s.ends(130)
		})
	}
}

// A shell with jobs: stopped by Ctrl+Z, the shell has its terminal; after fg the status is drawn below what the shell
// wrote.
func TestWatchStopsAndGoesOn(t *testing.T) {
	tool.Need(t, "bash")
	r := newTTYRepo(t)
	s := r.on(80, 40, []string{"PS1=shell> "}, "bash", "--norc", "--noprofile", "--noediting", "-i")
	s.sees(`shell>$`)
	s.press("git wf status --watch\n")
	s.sees(`POST-1  Post  pending`)
	s.press("\x1a")
	s.sees(`Stopped`)
	time.Sleep(4 * time.Second) // it draws below if it was away so long that somebody may have typed something
	s.press("echo in the $((40 + 2)) shell\n")
	s.sees(`^in the 42 shell`)
	s.press("fg\n")
	s.sees(`(?s)in the 42 shell.*POST-1  Post  pending`)
	s.press("\x03")
	s.sees(`interrupted`)
	s.press("echo code $?\n")
	s.sees(`code 130$`)
}

func TestWatchWithoutColours(t *testing.T) {
	r := newTTYRepo(t)
	s := r.on(80, 24, []string{"NO_COLOR=1"}, "git-wf", "status", "--watch")
	s.sees(`0 of 3 done`, `NOTE-1  說明文字 and more  awaiting review`)
	s.press("\x03")
	s.ends(130)
	if found := regexp.MustCompile(`\x1b\[[0-9;]*m`).Find(s.raw); found != nil {
		t.Errorf("there is a colour: %q", found)
	}
}

// git wf review asks on a terminal: what is longer than the screen goes through git's pager, and an interrupt at a
// question records nothing of what was typed before.
func TestReviewOnATerminal(t *testing.T) {
	r := newTTYRepo(t)
	r.write("list.txt", "a list\n")
	r.wf("submit", "LIST-1", "list.txt")
	r.wf("review", "LIST-1", "--approve")
	tip := r.git("rev-parse", "workflow/WFS-發布說明")
	s := r.on(80, 8, []string{"GIT_PAGER=sed 's/^/paged: /'"}, "git-wf", "review")
	s.sees(`^\(1/1\) Approve v2 \[a,r,c,v,s,q,\?\]\?$`)
	if !regexp.MustCompile(`paged: \S*\+two`).Match(s.raw) {
		t.Errorf("the pager was not used: %q", s.raw)
	}
	s.press("c\nnote.md:4 two of what?\nr\nSay of what.\n")
	s.press("\x03")
	s.ends(130)
	if now := r.git("rev-parse", "workflow/WFS-發布說明"); now != tip {
		t.Errorf("an event was recorded: %s", now)
	}

	s = r.on(80, 40, []string{"GIT_PAGER=false"}, "git-wf", "review")
	s.sees(`^\+two$`, `^  A1 MUST \(a person judges it\): It names 每個 change$`, `Approve v2`)
	s.press("a\n")
	s.sees(`^A1 MUST: It names 每個 change$`, `Enter: not looked at:$`)
	s.press("p 兩個都有\n")
	s.sees(`^A2 SHOULD: It is short$`)
	s.press("\n")
	s.sees(`^NOTE-1: approve v2`, `^not looked at one by one: A2$`, `^next: `)
	s.ends(0)
	if review := r.git("show", "workflow/WFS-發布說明:"+reviewPath(r)); !strings.Contains(review, "兩個都有") {
		t.Errorf("the review file lacks what was typed:\n%s", review)
	}
}

// reviewPath is the review file of the last event.
func reviewPath(r *ttyRepo) string {
	for line := range strings.Lines(r.git("-c", "core.quotePath=false", "show", "--format=", "--name-only",
		"workflow/WFS-發布說明")) {
		if strings.HasSuffix(strings.TrimSpace(line), "APPROVED.md") {
			return strings.TrimSpace(line)
		}
	}
	return "none"
}
