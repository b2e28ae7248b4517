package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"gitwf/internal/chaostest"
)

// lab is a temporary directory with the program to measure and a default configuration.
type lab struct {
	dir   string
	gitWF string
	env   []string
}

// gitConfig keeps git from running gc in the background during a measurement.
const gitConfig = `[user]
	name = Ada
	email = ada@example.com
[init]
	defaultBranch = main
[gc]
	auto = 0
[maintenance]
	auto = false
`

func newLab(ctx context.Context, parent, program string) (*lab, error) {
	dir, err := os.MkdirTemp(parent, "git-wf-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir}
	if err := l.prepare(ctx, program); err != nil {
		l.remove()
		return nil, err
	}
	return l, nil
}

func (l *lab) remove() { _ = os.RemoveAll(l.dir) } // leftovers in the system's temporary directory do no harm

func (l *lab) prepare(ctx context.Context, program string) error {
	bin, scratch, config := filepath.Join(l.dir, "bin"), filepath.Join(l.dir, "tmp"), filepath.Join(l.dir, "gitconfig")
	for _, d := range []string{bin, scratch} {
		if err := os.Mkdir(d, 0o777); err != nil {
			return err
		}
	}
	if err := os.WriteFile(config, []byte(gitConfig), 0o666); err != nil {
		return err
	}
	if program == "" {
		program = filepath.Join(bin, "git-wf")
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		if err := chaostest.Build(ctx, program); err != nil {
			return err
		}
	}
	var err error
	if l.gitWF, err = filepath.Abs(program); err != nil {
		return err
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "WF_") {
			l.env = append(l.env, kv)
		}
	}
	l.env = append(l.env, "HOME="+l.dir, "TMPDIR="+scratch, "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1",
		"LC_ALL=C")
	return nil
}

// git runs git and returns its output without the final newline.
func (l *lab) git(ctx context.Context, dir string, stdin io.Reader, args ...string) (string, error) {
	return l.output(ctx, dir, stdin, "git", args...)
}

func (l *lab) output(ctx context.Context, dir string, stdin io.Reader, name string, args ...string) (string, error) {
	var errs strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = dir, l.env, stdin, &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, lastLines(errs.String()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// steps runs commands in order; each must succeed.
func (l *lab) steps(ctx context.Context, dir string, commands ...[]string) error {
	for _, c := range commands {
		if _, err := l.output(ctx, dir, nil, c[0], c[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// repo makes a repository whose main branch comes from the fast-import stream, or has one small file.
func (l *lab) repo(ctx context.Context, name, stream string) (string, error) {
	dir := filepath.Join(l.dir, name)
	if stream == "" {
		stream = importCommit("refs/heads/main") + importFile("README", "A repository to measure in.\n")
	}
	if _, err := l.git(ctx, l.dir, nil, "init", "-q", dir); err != nil {
		return "", err
	}
	if _, err := l.git(ctx, dir, strings.NewReader(stream), "fast-import", "--quiet"); err != nil {
		return "", err
	}
	return dir, l.steps(ctx, dir, []string{"git", "reset", "-q", "--hard", "refs/heads/main"},
		[]string{"git", "config", "wf.policy", "none"})
}

// importCommit begins a commit in a git fast-import stream.
func importCommit(ref string) string {
	return "commit " + ref + "\ncommitter Ada <ada@example.com> 1700000000 +0100\ndata 6\nfirst\n\n"
}

func importFile(path, content string) string {
	return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
}
