package chaostest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Lab is a directory with the program under test and a default configuration. It contains the repositories.
type Lab struct {
	Dir     string // without symbolic links, since the system reports files that way
	Program string // git-wf
	Env     []string
}

const gitConfig = `[user]
	name = Ada
	email = ada@example.com
[init]
	defaultBranch = main
[gc]
	auto = 0
[maintenance]
	auto = false
[advice]
	detachedHead = false
`

// NewLab makes a lab below parent ("" for the system's temporary directory). Without a program it builds one.
func NewLab(ctx context.Context, parent, program string) (*Lab, error) {
	dir, err := os.MkdirTemp(parent, "git-wf-chaos-")
	if err != nil {
		return nil, err
	}
	l := &Lab{Program: program}
	if l.Dir, err = filepath.EvalSymlinks(dir); err == nil {
		err = l.furnish(ctx)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return l, nil
}

// Close removes the lab.
func (l *Lab) Close() error { return os.RemoveAll(l.Dir) }

func (l *Lab) furnish(ctx context.Context) error {
	for _, d := range []string{"bin", "tmp", "home"} {
		if err := os.Mkdir(filepath.Join(l.Dir, d), 0o777); err != nil {
			return err
		}
	}
	config := filepath.Join(l.Dir, "home", "gitconfig")
	for name, text := range map[string]string{config: gitConfig, l.file("plan.yaml"): planText,
		l.file("three.txt"): "three\n", l.file("four.txt"): "four\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			return err
		}
	}
	given := l.Program
	l.Program = filepath.Join(l.Dir, "bin", "git-wf")
	if runtime.GOOS == "windows" {
		l.Program += ".exe"
	}
	if given == "" {
		if err := Build(ctx, l.Program); err != nil {
			return err
		}
	} else if given, err := filepath.Abs(given); err != nil {
		return err
	} else if err := os.Symlink(given, l.Program); err != nil { // the hooks look for that name
		return err
	}
	home := l.file("home")
	own := []string{
		"PATH=" + l.file("bin") + string(os.PathListSeparator) + os.Getenv("PATH"), // the hooks look for git-wf there
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "TMPDIR=" + l.file("tmp"), "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1",
	}
	// Most programs use the first of two equal names, so remove the inherited one.
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		again := slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
		if !again && !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "WF_") &&
			!strings.HasPrefix(name, "CHAOS_") {
			l.Env = append(l.Env, kv)
		}
	}
	l.Env = append(l.Env, own...)
	return nil
}

// Build compiles git-wf, for which whoever runs it is a person; flags come before the package.
func Build(ctx context.Context, to string, flags ...string) error {
	dir, err := module(ctx)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-ldflags", "-X main.assumed=person", "-o", to}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/git-wf")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build git-wf: %w\n%s", err, out)
	}
	return nil
}

// module returns the directory of git-wf's module, from any directory in it or in a module that builds on it.
func module(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "gitwf").Output()
	if err != nil {
		return "", fmt.Errorf("find the source of git-wf: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (l *Lab) file(name string) string { return filepath.Join(l.Dir, name) }

// Repo is a repository of the lab, with the scenario's plan or before it.
type Repo struct {
	*Lab
	Dir string
	Env []string // in addition to the lab's
}

// NewRepo makes a repository with one commit.
func (l *Lab) NewRepo(ctx context.Context) (*Repo, error) {
	r, err := l.place()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "README"), []byte("a repository to break\n"), 0o666); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "README"}, {"commit", "-q", "-m", "first"}} {
		if _, err := r.Git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (l *Lab) place() (*Repo, error) {
	dir, err := os.MkdirTemp(l.Dir, "repo-")
	return &Repo{Lab: l, Dir: dir}, err
}

// Copy makes another repository like this one.
func (r *Repo) Copy() (*Repo, error) {
	next, err := r.Lab.place()
	if err != nil {
		return nil, err
	}
	next.Env = r.Env
	return next, os.CopyFS(next.Dir, os.DirFS(r.Dir))
}

// Remove deletes the repository.
func (r *Repo) Remove() error { return os.RemoveAll(r.Dir) }

// Outcome is how a command ended.
type Outcome struct {
	Args     []string
	Exit     int // the exit code, or -1 if it was killed
	Out, Err string
	Took     time.Duration
	Word     time.Duration // until the first word on standard error
	Calls    []*Call       // the traced calls, if any
}

// String shows the command and its output.
func (o *Outcome) String() string {
	return fmt.Sprintf("git wf %s: exit %d\n%s%s", strings.Join(o.Args, " "), o.Exit, indent(o.Out), indent(o.Err))
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// patience limits the time of any command, even on a busy machine; one that takes longer hangs.
const patience = 3 * time.Minute

// WF runs git-wf to its end, whatever its exit code; an error means that it could not run, or hung.
func (r *Repo) WF(ctx context.Context, args ...string) (*Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := r.command(ctx, args...)
	var out bytes.Buffer
	errs := words{began: time.Now()}
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	o := &Outcome{Args: args, Exit: cmd.ProcessState.ExitCode(), Out: out.String(), Err: errs.text.String(),
		Took: time.Since(errs.began), Word: errs.first}
	if ctx.Err() != nil {
		return o, fmt.Errorf("git wf %s: %w\n%s", strings.Join(args, " "), ctx.Err(), o)
	}
	if cmd.ProcessState == nil {
		return o, err
	}
	return o, nil
}

// words is what a command says, and how long it took to the first word.
type words struct {
	text  bytes.Buffer // not embedded: it would be read into
	began time.Time
	first time.Duration
}

func (w *words) Write(p []byte) (int, error) {
	if w.first == 0 {
		w.first = time.Since(w.began)
	}
	return w.text.Write(p)
}

func (r *Repo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.Program, args...)
	cmd.Dir, cmd.Env = r.Dir, r.environ()
	cmd.WaitDelay = time.Second
	return cmd
}

func (r *Repo) environ() []string { return append(append([]string{}, r.Lab.Env...), r.Env...) }

// Must runs git-wf and fails unless it exits with 0.
func (r *Repo) Must(ctx context.Context, args ...string) (*Outcome, error) {
	o, err := r.WF(ctx, args...)
	if err == nil && o.Exit != 0 {
		err = fmt.Errorf("expected success of %s", o)
	}
	return o, err
}

// WFTraced traces git-wf. It sees calls on the repository and on the temporary directory.
func (r *Repo) WFTraced(decide func(*Call) Fate, args ...string) (*Outcome, error) {
	var out, errs bytes.Buffer
	t := &Traced{
		Path: r.Program, Args: args, Dir: r.Dir, Env: r.environ(), Stdout: &out, Stderr: &errs,
		Below: []string{r.Dir, r.file("tmp")}, Decide: decide, Timeout: patience,
	}
	seen, err := t.Run()
	if err != nil {
		return nil, err
	}
	return &Outcome{Args: args, Exit: seen.Exit, Out: out.String(), Err: errs.String(), Calls: seen.Calls}, nil
}

// Git runs git and returns its output; it fails unless git exits with 0.
func (r *Repo) Git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.Dir, r.environ()
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("git %s: %w\n%s%s", strings.Join(args, " "), err, indent(string(out)),
			indent(errs.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
