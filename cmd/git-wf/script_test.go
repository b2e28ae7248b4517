package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gitwf/internal/caller"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
)

func TestMain(m *testing.M) {
	// A script often waits: for the disk, for a lease, for one process to start another. So run twice as many at
	// once as there are cores; -parallel on the command line, which is read later, has the last word.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(repotest.InMemory{M: m}, map[string]func(){
		"git-wf": asCaller, "approves": approveAll, "fake-gh": fakeForge})
}

// aPerson is where a person's command comes from.
func aPerson() caller.Origin { return caller.Origin{Terminal: true} }

// asCaller is the program, called by whom the script says in the variable CALLER: a person, unless it says otherwise.
// The tests may run below an agent themselves.
//
//	below X=1     a person's terminal, but an ancestor has X=1 in its environment
//	job           nobody's mark, and no terminal
//	hidden        a person, whose ancestors can't be read
//	real          whoever it is
func asCaller() {
	os.Exit(mainExit(func(environ []string, terminal bool) caller.Origin {
		o := caller.Origin{Environ: environ, Terminal: true}
		switch who, mark, _ := strings.Cut(os.Getenv("CALLER"), " "); who {
		case "below":
			o.Ancestors = []caller.Process{{PID: 5, Name: "sh", Environ: []string{mark}}}
		case "job":
			o.Terminal = false
		case "hidden":
			o.Unread = "process 4 is another user's"
		case "real":
			return caller.Here(environ, terminal)
		}
		return o
	}))
}

// approveAll is a reviewer who finds nothing wrong, for scripts that are about something else.
func approveAll() {
	var about struct {
		Criteria []plan.Criterion `json:"criteria"`
	}
	data, err := os.ReadFile(os.Getenv("WF_CONTEXT"))
	if err == nil {
		err = json.Unmarshal(data, &about)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	says := map[string]any{"schema_version": 1, "result_type": "REVIEW", "verdict": plan.Approved, "score": 95}
	rulings := []map[string]any{}
	for _, c := range about.Criteria {
		if c.Manual() {
			rulings = append(rulings, map[string]any{"id": c.ID, "pass": true, "evidence": "read"})
		}
	}
	says["criteria"] = rulings
	if err := json.NewEncoder(os.Stdout).Encode(says); err != nil {
		os.Exit(1)
	}
}

// TestScripts runs the scripts of testdata/script, which say what the command line does. Beside the commands of
// testscript they have:
//
//	git ARG...          runs git in a repository of its own; after each "git wf" the repository must be sound
//	damages             says that what follows damages repositories on purpose
//	code N git ARG...   the same, and the exit code must be N
//	$EXAMPLES           the folder examples/ of the project
//	[root]              a condition: whoever runs the tests may write everywhere
//	GIT_WF_TEST_KILL=1  in the environment of the test: each git wf run is killed (see killedRun)
//	unchanged           nothing below refs/ and in the index has changed since the last "remember"
//	approves            an agent that approves whatever it reviews
//	block DOC HEADING   runs what a document shows below a heading (see blockCommand)
//	json [PATH VALUE]   the last output was one JSON document, and what PATH selects is VALUE (see jsonCommand)
func TestScripts(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) { // nohup go test: what a script starts would ignore it, too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	path := withoutAgents(t)
	dir := "testdata/script"
	if killed {
		dir = outcomesAlone(t, dir)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"git": gitCommand, "code": codeCommand, "remember": rememberCommand, "unchanged": unchangedCommand,
			"json": jsonCommand, "block": blockCommand, "damages": damagesCommand,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "bwrap": // which some containers don't let work
				return tool.Broken(name) == "", nil
			}
			if needs, ok := strings.CutPrefix(name, "tool:"); ok { // which [exec:...] would take for there if it does not work
				return tool.Broken(needs) == "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			config := "[user]\n\tname = Ann Author\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n" +
				"[core]\n\texcludesFile = ~/ignore\n" +
				// No power fails here, and no repository gets so large. What git wf itself flushes, it flushes as ever.
				"\tfsync = none\n[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n"
			if err := os.MkdirAll(home, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o666); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(home, "ignore"), []byte("/.home\n/.tmp\n"), 0o666); err != nil {
				return err
			}
			examples, err := filepath.Abs("../../examples")
			if err != nil {
				return err
			}
			cache, err := os.UserCacheDir()
			if err != nil {
				return err
			}
			all := map[string]judged{}
			e.Values[judgedKey{}] = all
			e.Defer(func() {
				for dir, at := range all {
					if _, err := os.Stat(dir); err == nil {
						if said := at.flaws(dir); said != "" {
							e.T().Fatal(said)
						}
					}
				}
			})
			e.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build"))) // of the tests themselves
			e.Setenv("EXAMPLES", examples)
			e.Setenv("PATH", path)
			e.Setenv("HOME", home)
			if killed {
				git, err := exec.LookPath("git")
				script, absErr := filepath.Abs("../../internal/chaostest/workflow_git.sh")
				if err := errors.Join(err, absErr); err != nil {
					return err
				}
				e.Setenv("CHAOS_GIT", git)
				e.Setenv("CHAOS_SCRIPT", script)
			}
			e.Setenv("GOGC", "400") // few commands live long enough to be worth collecting
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			e.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
			e.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(e.WorkDir))
			return nil
		},
	})
}

// withoutAgents is PATH without the coding agents of who runs the tests: git wf plan would take one, and spend money.
func withoutAgents(t *testing.T) string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(dir)
		isAgent := func(entry os.DirEntry) bool {
			name, _, _ := strings.Cut(entry.Name(), ".")
			return slices.Contains([]string{"claude", "codex", "gemini", "opencode"}, name)
		}
		if slices.ContainsFunc(entries, isAgent) {
			others := t.TempDir()
			for _, entry := range entries {
				if isAgent(entry) {
					continue
				}
				if err := os.Symlink(filepath.Join(dir, entry.Name()), filepath.Join(others, entry.Name())); err != nil {
					t.Fatal(err)
				}
			}
			dir = others
		}
		dirs = append(dirs, dir)
	}
	return strings.Join(dirs, string(os.PathListSeparator))
}

func gitCommand(ts *testscript.TestScript, neg bool, args []string) {
	err := runGit(ts, args)
	switch {
	case err != nil && !neg:
		ts.Fatalf("git %s: %v", strings.Join(args, " "), err)
	case err == nil && neg:
		ts.Fatalf("git %s: succeeded, which it must not", strings.Join(args, " "))
	}
}

func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg || len(args) < 3 || args[1] != "git" {
		ts.Fatalf("usage: code N git ARG...")
	}
	got := 0
	var exit *exec.ExitError
	if err := runGit(ts, args[2:]); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("git: %v", err)
	}
	if got != want {
		ts.Fatalf("git %s: exit code %d, want %d", strings.Join(args[2:], " "), got, want)
	}
}

// outcomesAlone copies the scripts of workflows with what they expect of the end alone: that the plan is done, sound and
// lands. A killed run tells nobody of its progress, and has lost workers.
func outcomesAlone(t *testing.T, from string) string {
	to := t.TempDir()
	files, err := filepath.Glob(filepath.Join(from, "workflow_*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`(?m)^(! )?(stderr|stdout|cmp|grep) .*\n`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, rest, _ := strings.Cut(string(data), "\n-- ")
		script = said.ReplaceAllStringFunc(script+"\n", func(line string) string {
			if strings.HasPrefix(line, "stdout ") && strings.Contains(line, "done, ") {
				return line
			}
			return "#\n"
		})
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(script+"-- "+rest), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// killedRun is git wf run "$@", which dies whenever it records something, in turn before the move of the plan's ref and
// after it, and is run again until it ends.
const killedRun = `dir=$WORK/.kill
mkdir -p "$dir"
sed "2i CHAOS_GIT='$CHAOS_GIT' CHAOS_REF=refs/workflow/" "$CHAOS_SCRIPT" > "$dir/git" && chmod +x "$dir/git"
: > "$dir/err"
moment=keep
while
	if test $moment = keep; then moment=lose; else moment=keep; fi
	PATH="$dir:$PATH" CHAOS_KILL=$moment git-wf "$@" > "$dir/out" 2>> "$dir/err"
	rc=$?
	test $rc = 137
do :; done
cat "$dir/out"
cat "$dir/err" >&2
exit $rc`

// killed says that TestScripts kills each git wf run at all that it records.
var killed = os.Getenv("GIT_WF_TEST_KILL") != ""

func runGit(ts *testscript.TestScript, args []string) error {
	var err error
	if killed && len(args) > 1 && args[0] == "wf" && args[1] == "run" {
		err = ts.Exec("sh", append([]string{"-c", killedRun, "killed"}, args[1:]...)...)
	} else {
		err = ts.Exec("git", args...)
	}
	if len(args) > 0 && (args[0] == "wf" || len(args) > 2 && args[0] == "-C" && args[2] == "wf") {
		dir := ts.MkAbs(".")
		if args[0] == "-C" {
			dir = ts.MkAbs(args[1])
		}
		sound(ts, dir)
	}
	return err
}

// judgedKey finds, by directory, the repositories that sound has judged.
type judgedKey struct{}

// judged is a repository as sound has judged it.
type judged struct {
	refs    string
	git     func(args ...string) (string, error) // runs git there
	damaged bool                                 // on purpose, after it was judged
}

// sound checks what must hold after every command: the history of every plan only grew. At the end of the script git
// finds nothing wrong, either: objects stay, so that looking once is enough.
func sound(ts *testscript.TestScript, dir string) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(ts.Getenv("WORK"))}
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	refs, err := git("for-each-ref")
	if err != nil && strings.Contains(refs, "not a git repository") {
		return // that is what the command was about
	}
	all := ts.Value(judgedKey{}).(map[string]judged)
	was := all[dir]
	if was.refs == refs && err == nil {
		return // nothing was recorded
	}
	all[dir] = judged{refs, git, was.damaged}
	args := []string{"log", "--glob=refs/workflow", "--diff-merges=first-parent", "--root", "-r", "--name-status",
		"--no-renames", "--format=",
		"--invert-grep", "--grep=^Wf-Event: masked$", // which replaces records, as doctor_secret shows
		"--ignore-missing", "--not"}
	for line := range strings.Lines(was.refs) { // what they hold was judged
		if oid, ref, _ := strings.Cut(line, " commit\t"); strings.HasPrefix(ref, "refs/workflow/") {
			args = append(args, oid)
		}
	}
	out, err := git(args...)
	if err != nil {
		ts.Fatalf("git log: %v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "A\t") && line != "M\tplan.json" && line != "M\tpolicy.json" {
			ts.Fatalf("a commit below refs/workflow does more than add paths: %s", line)
		}
	}
}

// flaws says what git finds wrong with a repository.
func (j judged) flaws(dir string) string {
	if j.damaged {
		return ""
	}
	// Without the two files that only git's own maintenance writes: fsck starts a process for each, even where there is none.
	if out, err := j.git("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false",
		"fsck", "--strict", "--no-dangling", "--no-progress"); err != nil &&
		!strings.Contains(out, "not a git repository") { // the script has removed it
		return fmt.Sprintf("%s: git fsck --strict: %v\n%s", dir, err, out)
	}
	return ""
}

// damagesCommand looks for flaws for the last time: what follows makes some.
func damagesCommand(ts *testscript.TestScript, _ bool, _ []string) {
	all := ts.Value(judgedKey{}).(map[string]judged)
	for dir, at := range all {
		if said := at.flaws(dir); said != "" {
			ts.Fatalf("%s", said)
		}
		at.damaged = true
		all[dir] = at
	}
}

// rememberCommand notes the refs, the index and the working tree; unchangedCommand compares.
func rememberCommand(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("REMEMBERED", picture(ts))
}

func unchangedCommand(ts *testscript.TestScript, _ bool, _ []string) {
	if now, before := picture(ts), ts.Getenv("REMEMBERED"); now != before {
		ts.Fatalf("something changed:\n%s\nit was:\n%s", now, before)
	}
}

func picture(ts *testscript.TestScript) string {
	var all []string
	for _, args := range [][]string{{"for-each-ref"}, {"ls-files", "--stage"},
		{"status", "--porcelain", "--untracked-files=all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+ts.Getenv("GIT_CONFIG_GLOBAL"), "HOME="+ts.Getenv("HOME"))
		out, _ := cmd.CombinedOutput() // outside of a repository, the error is the picture
		lines := slices.DeleteFunc(strings.SplitAfter(string(out), "\n"), func(line string) bool {
			return strings.Contains(line, "/wf/cache/") // of a repository below, which may fill at any time
		})
		all = append(all, strings.Join(lines, ""))
	}
	return strings.Join(all, "--\n")
}

// jsonCommand checks that the last command printed one JSON document and, if a path is given, what is there. The parts
// of a path are divided by slashes: the name of a field, the index of an element, or KEY=VALUE for the first element
// with that field. A string is compared as it is, anything else as JSON. "json PATH" alone asks that the path exists,
// and "! json PATH" that it does not.
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 2 || neg && len(args) != 1 {
		ts.Fatalf("usage: json [PATH [VALUE]], ! json PATH")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("the output is no JSON document: %v", err)
	}
	if len(args) == 0 {
		return
	}
	value, ok := jsonAt(doc, strings.Split(args[0], "/"))
	if ok == neg {
		ts.Fatalf("%s: exists: %v", args[0], ok)
	}
	if len(args) < 2 {
		return
	}
	got, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value)
		ts.Check(err)
		got = string(data)
	}
	if got != args[1] {
		ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
	}
}

func jsonAt(doc any, path []string) (any, bool) {
	if len(path) == 0 {
		return doc, true
	}
	switch v := doc.(type) {
	case map[string]any:
		next, ok := v[path[0]]
		if !ok {
			return nil, false
		}
		return jsonAt(next, path[1:])
	case []any:
		key, want, keyed := strings.Cut(path[0], "=")
		for i, element := range v {
			field, _ := element.(map[string]any)
			if !keyed && strconv.Itoa(i) == path[0] || keyed && field[key] == want {
				return jsonAt(element, path[1:])
			}
		}
	}
	return nil, false
}
