package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/completion"
	"gitwf/internal/fault"
	"gitwf/internal/repotest/tool"

	"github.com/urfave/cli/v2"
)

// completionScriptFile writes the script for a shell to a file of its own.
func completionScriptFile(t *testing.T, shell, name string) string {
	t.Helper()
	var out bytes.Buffer
	e := &env{printer: printer{stdout: &out, stderr: &out}, origin: aPerson}
	if code := e.run(t.Context(), []string{"completion", shell}); code != fault.ExitDone {
		t.Fatalf("git wf completion %s: exit code %d\n%s", shell, code, out.String())
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeProgram puts a git-wf into PATH that knows the ids of one plan.
func fakeProgram(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	isolateGit(t)
	dir := t.TempDir()
	script := "#!/bin/sh\ncase $* in\n'completion tasks') printf '%s\\n' GOAL-1 TEXT-1 CARD-1 ;;\n" +
		"'completion plans') printf '%s\\n' WFS-card WFS-shop ;;\n" +
		"'completion categories') printf '%s\\n' issues debt ;;\n*) echo \"unexpected: $*\" >&2; exit 2 ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "git-wf"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// isolateGit keeps the user's repository and configuration out of a test.
func isolateGit(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "WF_") {
			t.Setenv(name, "") // has the test restore it
			os.Unsetenv(name)
		}
	}
	home := t.TempDir()
	config := filepath.Join(home, "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = T\n\temail = t@example.invalid\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_DATA_HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func TestCompletionScriptsParse(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path := tool.Need(t, shell)
			if out, err := exec.Command(path, "-n", completionScriptFile(t, shell, "script")).CombinedOutput(); err != nil ||
				len(out) > 0 {
				t.Errorf("%s -n: %v\n%s", shell, err, out)
			}
		})
	}
}

func TestCompletionRefusesAnUnknownShell(t *testing.T) {
	var out, errOut bytes.Buffer
	e := &env{printer: printer{stdout: &out, stderr: &errOut}, origin: aPerson}
	if code := e.run(t.Context(), []string{"completion", "tcsh"}); code != fault.ExitUsage || out.Len() > 0 {
		t.Errorf("exit code %d, printed %q; want %d and nothing", code, out.String(), fault.ExitUsage)
	}
	if !strings.Contains(errOut.String(), `found "tcsh"`) {
		t.Errorf("the error does not name the shell: %s", errOut.String())
	}
}

// completions are lines with the cursor at their end, and what must be offered there, sorted.
var completions = []struct{ name, line, want string }{
	{"command", "git-wf stat", "status"},
	{"two commands", "git-wf re", "rerun resume retry review"},
	{"help is one", "git-wf hel", "help"},
	{"command of a group", "git-wf hooks in", "install"},
	{"flag of a command of a group", "git-wf hooks install --f", "--force"},
	{"flag", "git-wf export --fi", "--final-only"},
	{"flag before the operand", "git-wf review --ap", "--approve"},
	{"flag behind the operand", "git-wf review TEXT-1 --ap", "--approve"},
	{"task", "git-wf show T", "TEXT-1"},
	{"task behind a flag", "git-wf show --json C", "CARD-1"},
	{"task behind a flag with a value", "git-wf review --score 90 T", "TEXT-1"},
	{"task behind the end of flags", "git-wf show -- T", "TEXT-1"},
	{"no second task", "git-wf show TEXT-1 T", ""},
	{"plan", "git-wf switch WFS-s", "WFS-shop"},
	{"value of a flag", "git-wf status --plan WFS-c", "WFS-card"},
	{"category of a note", "git-wf note d", "debt"},
	{"free text", "git-wf retry -m T", ""},
	{"no such command", "git-wf nonsense T", ""},
	{"command that help explains", "git-wf help ver", "verify"},
}

// The words of the line are given as bash would: it splits at an equals sign.
const bashDriver = `
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=() COMPREPLY=()
read -ra COMP_WORDS <<<"${2//=/ = }"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p git-wf | sed 's/.* -F \([^ ]*\) .*/\1/')
printf '%s\n' "${COMPREPLY[@]}"
`

func TestCompletionInBash(t *testing.T) {
	fakeProgram(t)
	bash, script := tool.Need(t, "bash"), completionScriptFile(t, "bash", "git-wf")
	tests := append(completions[:len(completions):len(completions)], struct{ name, line, want string }{
		"value behind an equals sign", "git-wf status --plan=WFS-c", "WFS-card",
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := exec.Command(bash, "--norc", "-c", bashDriver, "bash", script, tt.line).CombinedOutput()
			got := strings.Fields(string(out))
			slices.Sort(got)
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("%s: offered %q, want %q (%v)", tt.line, got, tt.want, err)
			}
		})
	}
}

// What git's completion sets before it calls _git_wf, for a line with an option of git in front.
const gitBashDriver = `
source "$1"
words=(git -C . wf $2) cword=$((${#words[@]} - 1)) __git_cmd_idx=3
cur=${words[cword]} prev=${words[cword - 1]}
_git_wf
printf '%s\n' "${COMPREPLY[@]}"
`

func TestCompletionThroughGitInBash(t *testing.T) {
	fakeProgram(t)
	bash, script := tool.Need(t, "bash"), completionScriptFile(t, "bash", "git-wf")
	for line, want := range map[string]string{
		"show T": "TEXT-1", "hooks un": "uninstall", "status --plan=WFS-s": "WFS-shop", "export --par": "--partial",
	} {
		out, err := exec.Command(bash, "--norc", "-c", gitBashDriver, "bash", script, line).CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
			t.Errorf("git -C . wf %s: offered %q, want %q (%v)", line, got, want, err)
		}
	}
}

func TestCompletionInFish(t *testing.T) {
	fakeProgram(t)
	fish, script := tool.Need(t, "fish"), completionScriptFile(t, "fish", "git-wf.fish")
	for _, tt := range completions {
		for _, line := range []string{tt.line, strings.Replace(tt.line, "git-wf", "git wf", 1)} {
			t.Run(line, func(t *testing.T) {
				cmd := exec.Command(fish, "-c", `source $argv[1]; complete -C $argv[2]`, script, line)
				cmd.Dir = t.TempDir()
				out, err := cmd.CombinedOutput()
				var got []string
				for offer := range strings.Lines(string(out)) {
					word, _, _ := strings.Cut(strings.TrimSpace(offer), "\t")
					if strings.HasPrefix(word, tt.line[strings.LastIndex(tt.line, " ")+1:]) { // fish also guesses at other beginnings
						got = append(got, word)
					}
				}
				slices.Sort(got)
				if strings.Join(got, " ") != tt.want || err != nil {
					t.Errorf("offered %q, want %q (%v)\n%s", got, tt.want, err, out)
				}
			})
		}
	}
}

// zsh completes on a terminal only: a pseudo-terminal runs one, which prints the line that a tab makes of the
// beginning.
const zshDriver = `
zmodload zsh/zpty || exit 77
zpty -b z zsh -f -i
zpty -w z "PS1=; TERM=dumb; unsetopt zle_bracketed_paste; fpath=(${(q)1:h} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w z "bindkey '^I' complete-word; show() { print -r -- \"<<\$BUFFER>>\"; zle kill-whole-line }; zle -N show; bindkey '^T' show; print -r ready''now"
zpty -r z out '*readynow*'
for line in "${@:2}"; do
  zpty -n -w z "$line"$'\t\x14'
  zpty -r z out '*<<*>>*'
  out=${out##*<<}
  print -r -- "${out%%>>*}"
done
zpty -d z
`

func TestCompletionInZsh(t *testing.T) {
	fakeProgram(t)
	zsh, script := tool.Need(t, "zsh"), completionScriptFile(t, "zsh", "_git-wf")
	var lines, want []string
	for _, tt := range completions {
		if strings.Contains(tt.want, " ") { // several offers leave the line as it is, or complete what they share
			continue
		}
		for _, line := range []string{tt.line, strings.Replace(tt.line, "git-wf", "git wf", 1)} {
			lines = append(lines, line)
			if tt.want != "" {
				line = line[:strings.LastIndex(line, " ")+1] + tt.want
			}
			want = append(want, line)
		}
	}
	cmd := exec.Command(zsh, append([]string{"-f", "-c", zshDriver, "zsh", script}, lines...)...)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = time.Second
	stop := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer stop.Stop()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skip("this zsh has no zpty")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers to %d lines:\n%s", len(got), len(want), out)
	}
	for i := range want {
		if strings.TrimRight(got[i], " ") != want[i] {
			t.Errorf("%s: became %q, want %q", lines[i], got[i], want[i])
		}
	}
}

// Every operand that a command's help names has something that completes it, or the script would stay silent there.
func TestCompletionKnowsEveryOperand(t *testing.T) {
	var check func([]*cli.Command)
	check = func(commands []*cli.Command) {
		for _, c := range commands {
			check(c.Subcommands)
			if c.Hidden || c.ArgsUsage == "" || c.Name == "help" {
				continue
			}
			want := 0
			for _, word := range strings.Fields(strings.ReplaceAll(c.ArgsUsage, " | ", "|")) {
				switch strings.TrimSuffix(strings.Trim(word, "[]"), "...") {
				case "TEXT", "NAME", "AGENT", "WHAT", "VERSION": // what nobody can guess
				default:
					want++
				}
			}
			if got := completion.Operands(c.ArgsUsage); len(got) != want {
				t.Errorf("git wf %s %s: completes %d of %d operands", c.Name, c.ArgsUsage, len(got), want)
			}
		}
	}
	check((&env{}).app().Commands)
}

func TestCompletionListsTasksAndPlans(t *testing.T) {
	isolateGit(t)
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"commit", "--quiet", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	run := func(args ...string) (string, string) {
		var out, errOut bytes.Buffer
		e := &env{stdin: strings.NewReader(""), printer: printer{stdout: &out, stderr: &errOut}, dir: dir, now: time.Now,
			user: user{os.Environ()}, origin: aPerson}
		if code := e.run(t.Context(), args); code != fault.ExitDone {
			t.Fatalf("git wf %s: exit code %d\n%s", args, code, errOut.String())
		}
		return out.String(), errOut.String()
	}
	if out, errOut := run("completion", "tasks"); out+errOut != "" {
		t.Errorf("without a plan: printed %q and %q, want nothing", out, errOut)
	}
	example, err := filepath.Abs("../../examples/hello.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run("plan", "-f", example)
	if out, _ := run("completion", "plans"); out != "WFS-hello\n" {
		t.Errorf("plans: got %q", out)
	}
	out, _ := run("completion", "tasks")
	for _, id := range []string{"GOAL-1", "GREET-1", "POEM-1", "PAGE-1", "CHECK-PAGE-1"} {
		if !strings.Contains("\n"+out, "\n"+id+"\n") {
			t.Errorf("tasks: %s is missing from %q", id, out)
		}
	}
	dir = t.TempDir()
	if out, errOut := run("completion", "plans"); out+errOut != "" {
		t.Errorf("outside of a repository: printed %q and %q, want nothing", out, errOut)
	}
}
