package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sight is a fault, what a user sees of it, and how the same command ends once its reason is gone.
type Sight struct {
	Fault, Command string
	Exit           int
	Took           time.Duration
	Said           []string // the lines with error, hint or waiting
	Then           int      // exit code of the same command without the fault, where that was not checked already
	Err            error    // what should not be
}

// String shows the sight as a user sees it.
func (s Sight) String() string {
	text := fmt.Sprintf("%s\n  $ git wf %s: exit %d after %s\n", s.Fault, s.Command, s.Exit,
		s.Took.Round(100*time.Millisecond))
	for _, line := range s.Said {
		text += "  " + line + "\n"
	}
	if text += fmt.Sprintf("  then, without it: exit %d\n", s.Then); s.Err != nil {
		text += fmt.Sprintf("  WRONG: %v\n", s.Err)
	}
	return text
}

// fault is one row of the table: make brings the fault about, and end takes its reason away. Through prefix a shell
// begins the command.
type fault struct {
	name, prefix string
	args         []string
	make, end    func(r *Repo) error
}

func none(*Repo) error { return nil }

func locked(name string) fault {
	return fault{name: "the lock " + name, args: []string{"land"},
		make: func(r *Repo) error { return leave(r.inGit(name), true) },
		end: func(r *Repo) error {
			if err := os.Remove(r.inGit(name)); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		},
	}
}

func faults() []fault {
	list := []fault{
		{"at most 12 open files", "ulimit -n 12; ", []string{"land"}, none, none},
		{"files of at most 32 KB", "ulimit -f 64; ", []string{"land"}, none, none},
		{"a memory of 64 MB", "ulimit -v 65536; ", []string{"land"}, none, none},
	}
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock",
		"refs/workflow/WFS-land.lock", "refs/workflow-keep/WFS-land/base.lock", "config.lock"} {
		list = append(list, locked(name))
	}
	for _, name := range []string{"with  blanks", "it's \"quoted\" $HOME `x`", "-rf", "ümlaut 中文", "a[1]*?{b}", "line\nbreak"} {
		odd := filepath.Join("odd", name)
		list = append(list, fault{"a repository below " + fmt.Sprintf("%q", name), "", []string{"land"}, func(r *Repo) error {
			at := r.Dir + ".moved"
			if err := os.Rename(r.Dir, at); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Join(r.Lab.Dir, "odd"), 0o777); err != nil {
				return err
			}
			was := r.Dir
			r.Dir = filepath.Join(r.Lab.Dir, odd)
			return errors.Join(os.RemoveAll(r.Dir), os.Rename(at, r.Dir), os.MkdirAll(was+".was", 0o777))
		}, func(r *Repo) error {
			back := filepath.Join(r.Lab.Dir, "plain")
			err := errors.Join(os.RemoveAll(back), os.Rename(r.Dir, back))
			r.Dir = back
			return err
		}})
	}
	return list
}

// Sights makes each fault in the way of a landing, and calls tell with what a user sees.
func (s *Stages) Sights(ctx context.Context, tell func(Sight)) error {
	l, err := NewLanding(ctx, s.Lab)
	if err != nil {
		return err
	}
	for _, f := range faults() {
		seen, err := l.sight(ctx, f)
		if err != nil {
			return err
		}
		tell(seen)
	}
	told := func(name string, o *Outcome, err error) {
		seen := Sight{Fault: name, Command: "land", Err: err}
		if o != nil {
			seen.Exit, seen.Took, seen.Said = o.Exit, o.Took, l.toldLines(o)
		}
		tell(seen)
	}
	if o, err := l.ReadOnly(ctx); !errors.Is(err, ErrNoMount) {
		told("a disk that can't be written", o, err)
	}
	for _, left := range []int64{0, 40 << 10, 120 << 10} {
		if o, err := l.FullDisk(ctx, left); !errors.Is(err, ErrNoMount) {
			told(fmt.Sprintf("the disk full, %d bytes left", left), o, err)
		}
	}
	if err := l.fullAtEach(ctx, told); err != nil {
		return err
	}
	if err := l.sixteen(ctx, told); err != nil {
		return err
	}
	return s.manyFiles(ctx, tell)
}

// fullAtEach fills the disk at each call of a landing, and tells of those that a user sees differently.
func (l *Landing) fullAtEach(ctx context.Context, told func(string, *Outcome, error)) error {
	calls, err := l.Count()
	if errors.Is(err, ErrNoTrace) {
		return nil
	}
	seen := map[string]bool{}
	for n := 1; n <= calls && ctx.Err() == nil; n++ {
		o, hit, err := l.FullAt(ctx, n)
		if hit == nil && err == nil {
			break
		}
		key := fmt.Sprint(o.Exit, byChance.ReplaceAllString(numbers.ReplaceAllString(o.Err, "0"), "$1"))
		if err != nil || !seen[key] {
			told(fmt.Sprintf("the disk full from call %d of %d on, which is %s", n, calls, hit.Name), o, err)
		}
		seen[key] = true
	}
	return err
}

// numbers are what differs from call to call: names of temporary files, and object ids.
var numbers = regexp.MustCompile(`objects/[0-9a-f/]+|[0-9a-f]{12,}|tmp_obj_\w+|repo-[0-9]+|[0-9]+`)

// sixteen lands with 16 processes at once.
func (l *Landing) sixteen(ctx context.Context, told func(string, *Outcome, error)) error {
	r, err := l.Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	before, err := r.Git(ctx, "rev-parse", "main")
	if err != nil {
		return err
	}
	var outcomes [16]*Outcome
	var errs [16]error
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() { outcomes[i], errs[i] = r.WF(ctx, "land") })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, o := range outcomes {
		if key := fmt.Sprint(o.Exit, numbers.ReplaceAllString(o.Err, "0")); !seen[key] {
			seen[key] = true
			told("16 processes", o, nil)
		}
	}
	told("16 processes, after them", outcomes[0], l.again(ctx, r, before))
	return nil
}

func (l *Landing) sight(ctx context.Context, f fault) (Sight, error) {
	seen := Sight{Fault: f.name, Command: strings.Join(f.args, " ")}
	r, err := l.Copy()
	if err != nil {
		return seen, err
	}
	defer func() { os.RemoveAll(r.Dir) }()
	if err := f.make(r); err != nil {
		return seen, err
	}
	o, err := r.through(ctx, f.prefix, f.args...)
	if err != nil {
		return seen, err
	}
	seen.Took, seen.Exit, seen.Said = o.Took, o.Exit, r.toldLines(o)
	if err := f.end(r); err != nil {
		return seen, err
	}
	const silence = 5 * time.Second
	if o.Exit != 0 && len(seen.Said) == 0 || o.Took > silence && (o.Word == 0 || o.Word > silence) {
		seen.Err = fmt.Errorf("no word of what is wrong, or after %s: %s", o.Word, o)
	}
	then, err := r.WF(ctx, f.args...)
	if err != nil {
		return seen, err
	}
	if seen.Then = then.Exit; then.Exit != 0 {
		seen.Err = errors.Join(seen.Err, fmt.Errorf("it does not go on: %s", then))
	}
	return seen, nil
}

// through runs git-wf below a shell that first does something else, such as set limits.
func (r *Repo) through(ctx context.Context, prefix string, args ...string) (*Outcome, error) {
	if prefix == "" {
		return r.WF(ctx, args...)
	}
	shell := *r
	lab := *r.Lab
	lab.Program, shell.Lab = "/bin/sh", &lab
	o, err := shell.WF(ctx, append([]string{"-c", prefix + `exec "$0" "$@"`, r.Program}, args...)...)
	return o, err
}

// toldLines are the lines that say what is wrong, and what to do.
func (r *Repo) toldLines(o *Outcome) []string {
	const most = 8
	var told []string
	for line := range strings.Lines(o.Err) {
		word, _, _ := strings.Cut(line, " ")
		words := []string{"error:", "fatal:", "fatal", "hint:", "note:", "waiting", "checking", "interrupted"}
		if len(told) < most && slices.Contains(words, strings.TrimSpace(word)) {
			told = append(told, strings.ReplaceAll(strings.TrimSpace(line), r.Lab.Dir, "LAB"))
		}
	}
	return told
}

// manyFiles changes and lands one of 100,000 files.
func (s *Stages) manyFiles(ctx context.Context, tell func(Sight)) error {
	const dirs, each = 1000, 100
	r, err := s.Lab.NewRepo(ctx)
	if err != nil {
		return err
	}
	defer r.Remove()
	for i := range dirs {
		dir := filepath.Join(r.Dir, fmt.Sprintf("d%d", i))
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		for j := range each {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), fmt.Appendln(nil, i, j), 0o666); err != nil {
				return err
			}
		}
	}
	for _, args := range [][]string{{"add", "."}, {"commit", "-q", "-m", "many"}} {
		if _, err := r.Git(ctx, args...); err != nil {
			return err
		}
	}
	file := s.Lab.file("many.yaml")
	if err := os.WriteFile(file, []byte(landPlan), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "GONE"), nil, 0o666); err != nil {
		return err
	}
	for _, args := range [][]string{{"add", "GONE"}, {"commit", "-q", "-m", "gone"}} {
		if _, err := r.Git(ctx, args...); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init"}, {"plan", "-f", file}, {"trust", "--code"}, {"run"}, {"land"}, {"doctor"}} {
		o, err := r.WF(ctx, args...)
		if err != nil {
			return err
		}
		seen := Sight{Fault: "100,000 files", Command: strings.Join(args, " "), Exit: o.Exit, Took: o.Took,
			Said: r.toldLines(o)}
		if o.Exit != 0 {
			seen.Err = errors.New(o.String())
		}
		tell(seen)
	}
	return nil
}
