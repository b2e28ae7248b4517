package chaostest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Before is what was recorded before a fault.
type Before struct {
	tip string // "" if there was no plan
}

// Remember reads what the next fault must not lose.
func (r *Repo) Remember(ctx context.Context) (Before, error) {
	tip, err := r.tip(ctx)
	return Before{tip}, err
}

func (r *Repo) tip(ctx context.Context) (string, error) {
	return r.Git(ctx, "for-each-ref", "--format=%(objectname)", planRef)
}

// Judge inspects a repository right after a fault, before any repair. It returns everything that is wrong; said is what
// commands printed before they ended or were killed.
func (r *Repo) Judge(ctx context.Context, b Before, said ...*Outcome) error {
	return errors.Join(r.sound(ctx), r.kept(ctx, b), r.truthful(ctx, said), r.bundleWhole(ctx))
}

// sound reports what git finds wrong with the repository.
func (r *Repo) sound(ctx context.Context) error {
	out, err := r.Git(ctx, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
	if err == nil && strings.TrimSpace(out) != "" {
		err = fmt.Errorf("git fsck says:\n%s", indent(out))
	}
	return err
}

// kept reports whether the history continues from where it was, with nothing changed.
func (r *Repo) kept(ctx context.Context, b Before) error {
	if b.tip == "" {
		return nil
	}
	tip, err := r.tip(ctx)
	if err != nil {
		return err
	}
	if tip == "" {
		return fmt.Errorf("the plan's ref is gone; it was %s", b.tip)
	}
	if _, err := r.Git(ctx, "merge-base", "--is-ancestor", b.tip, tip); err != nil {
		return fmt.Errorf("the plan's history does not go on from %s: %w", b.tip, err)
	}
	changed, err := r.Git(ctx, "diff-tree", "-r", "--no-renames", "--diff-filter=a", "--name-status", b.tip, tip)
	if err != nil {
		return err
	}
	for line := range strings.Lines(changed) {
		if strings.TrimSpace(line) != "M\tplan.json" {
			return fmt.Errorf("a record was changed: %s", line)
		}
	}
	return nil
}

// What commands print after they record something: `run` a line for each event, the others the event's subject.
var (
	progressLine = regexp.MustCompile(`(?m)^ *\S+ +([A-Z]+-[0-9]+) +(?:(v[0-9]+) by (\S+),|(v[0-9]+) (approved|REJECTED) by|attempt (a[0-9]+):)`)
	subjectLine  = regexp.MustCompile(`(?m)^([A-Z]+-[0-9]+: (?:v[0-9]+ by .*|approve .*|reject .*|retry.*|waive .*|q[0-9]+ answered|[0-9]+ files? handed in.*))$`)
	committed    = regexp.MustCompile(`(?m)^committed as ([0-9a-f]+)$`)
)

// Claimed lists the events that a command reported as recorded, by the beginning of each subject.
func (o *Outcome) Claimed() []string {
	var claimed []string
	for _, m := range progressLine.FindAllStringSubmatch(o.Err, -1) {
		switch {
		case m[2] != "":
			claimed = append(claimed, m[1]+": "+m[2]+" by "+m[3])
		case m[5] == "approved":
			claimed = append(claimed, m[1]+": approve "+m[4])
		case m[5] == "REJECTED":
			claimed = append(claimed, m[1]+": reject "+m[4])
		default:
			claimed = append(claimed, m[1]+": attempt "+m[6])
		}
	}
	for _, m := range subjectLine.FindAllStringSubmatch(o.Out, -1) {
		claimed = append(claimed, m[1])
	}
	return claimed
}

// truthful reports events that commands claim to have recorded but did not.
func (r *Repo) truthful(ctx context.Context, said []*Outcome) error {
	subjects, err := r.subjects(ctx)
	if err != nil {
		return err
	}
	for _, o := range said {
		for _, event := range o.Claimed() {
			if !slices.ContainsFunc(subjects, func(s string) bool { return strings.HasPrefix(s, event) }) {
				return fmt.Errorf("%q was reported as recorded and is not in the history, by %s", event, o)
			}
		}
		if m := committed.FindStringSubmatch(o.Out); m != nil {
			if _, err := r.Git(ctx, "merge-base", "--is-ancestor", m[1], "HEAD"); err != nil {
				return fmt.Errorf("%s was reported as committed: %w", m[1], err)
			}
		}
	}
	return nil
}

// subjects returns the subjects of all events so far.
func (r *Repo) subjects(ctx context.Context) ([]string, error) {
	tip, err := r.tip(ctx)
	if err != nil || tip == "" {
		return nil, err
	}
	out, err := r.Git(ctx, "log", "--format=%s", tip)
	return strings.Split(out, "\n"), err
}

// bundleWhole reports a bundle that is neither unchanged nor complete: in HEAD, in the index and in the working tree a
// bundle has what its manifest lists, or does not exist at all.
func (r *Repo) bundleWhole(ctx context.Context) error {
	env := *r // without what a dead init has not set
	env.Env = append(slices.Clone(r.Env), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=wf.policy", "GIT_CONFIG_VALUE_0=none")
	if o, err := env.WF(ctx, "verify"); err != nil || o.Exit != 0 {
		return errors.Join(err, fmt.Errorf("what is staged may not land: %s", o))
	}
	if o, err := env.WF(ctx, "verify", "HEAD"); err != nil || o.Exit != 0 {
		return errors.Join(err, fmt.Errorf("what is committed may not land: %s", o))
	}
	_, err := os.Lstat(filepath.Join(r.Dir, filepath.FromSlash(bundle)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	// A scratch copy's index shows what the gate would say if the files were added unchanged.
	dir, err := os.MkdirTemp(r.file("tmp"), "index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	env.Env = append(env.Env, "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	for _, args := range [][]string{{"read-tree", "HEAD"}, {"add", "-A", "-f", "--", bundle}} {
		if _, err := env.Git(ctx, args...); err != nil {
			return err
		}
	}
	o, err := env.WF(ctx, "verify")
	if err != nil || o.Exit != 0 {
		return errors.Join(err, fmt.Errorf("the bundle in the working tree is not whole: %s", o))
	}
	return nil
}

// Later makes leftover locks of our refs look an hour old. Without it the program waits until it can be sure that nobody
// holds them. Those of other files stay as they are: their times say whose they are.
func (r *Repo) Later() error {
	then := time.Now().Add(-time.Hour)
	return filepath.WalkDir(filepath.Join(r.Dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		ours := strings.Contains(filepath.ToSlash(path), "refs/workflow") || strings.HasPrefix(d.Name(), "WORKFLOW_") ||
			strings.HasPrefix(d.Name(), "packed-refs.")
		if err != nil || d.IsDir() || !ours || filepath.Ext(path) != ".lock" && d.Name() != "packed-refs.new" {
			return err
		}
		return os.Chtimes(path, then, then)
	})
}

// CarryOn does what a user would do after a fault, until the bundle is committed: it plans if there is no plan, runs,
// and makes the decisions of a person that are not recorded yet. Every command must succeed at the first try, and the
// program must do without help whatever it can. Then CarryOn compares the result with the scenario without a fault.
func (s *Stages) CarryOn(ctx context.Context, r *Repo) error {
	if err := s.carryOn(ctx, r); err != nil {
		return fmt.Errorf("carry on: %w", err)
	}
	if err := r.sound(ctx); err != nil {
		return err
	}
	got, err := r.Result(ctx)
	if err != nil {
		return err
	}
	if !got.Equal(s.Want) {
		return fmt.Errorf("the result differs: %v, without the fault %v", got, s.Want)
	}
	return r.tidy(ctx)
}

func (s *Stages) carryOn(ctx context.Context, r *Repo) error {
	if _, err := r.do(ctx, s.Step("init")); err != nil {
		return err
	}
	subjects, err := r.subjects(ctx)
	if err != nil {
		return err
	}
	recorded := func(step Step) bool {
		return slices.ContainsFunc(subjects, func(s string) bool { return strings.HasPrefix(s, step.Event) })
	}
	if plan := s.Step("plan"); !recorded(plan) {
		if _, err := r.do(ctx, plan); err != nil {
			return err
		}
	}
	open := slices.DeleteFunc(s.Lab.Steps(), func(step Step) bool {
		return !step.Person || step.Event == "" || step.Name == "plan" || recorded(step)
	})
	if err := r.allow(); err != nil {
		return err
	}
	if slices.ContainsFunc(open, func(step Step) bool { return step.Name == "retry" }) {
		if err := os.Remove(filepath.Join(r.Dir, ".git", "go")); err != nil {
			return err
		}
	}
	if len(open) > 0 {
		if _, err := r.do(ctx, s.Step("run-to-rest")); err != nil {
			return err
		}
	}
	if err := r.allow(); err != nil {
		return err
	}
	for _, step := range open {
		if _, err := r.do(ctx, step); err != nil {
			return err
		}
	}
	for _, name := range []string{"run", "export-commit"} {
		if _, err := r.do(ctx, s.Step(name)); err != nil {
			return err
		}
	}
	return nil
}

// do carries out a step.
func (r *Repo) do(ctx context.Context, step Step) (*Outcome, error) {
	o, err := r.WF(ctx, step.Args...)
	if err == nil && !slices.Contains(step.Exits, o.Exit) {
		err = fmt.Errorf("expected exit %d of %s", step.Exits, o)
	}
	return o, err
}

// foreignLock returns git's own lock file that a command names as the reason for its failure, if the file exists.
func (r *Repo) foreignLock(o *Outcome) string {
	said := strings.ReplaceAll(o.Err, "could not lock config file .git/config:", "config.lock") // git's wording
	for _, name := range []string{"index.lock", "HEAD.lock", "config.lock", "refs/heads/main.lock"} {
		if path := r.inGit(name); strings.Contains(said, name) {
			if _, err := os.Lstat(path); err == nil {
				return path
			}
		}
	}
	return ""
}

// tidy reports what a finished plan should not leave behind. It accepts the claim of a worker that was killed after it
// recorded its work and before git deleted the claim: the owner is gone, so the claim blocks nobody and stays until
// somebody looks for such claims.
func (r *Repo) tidy(ctx context.Context) error {
	claims, err := r.Git(ctx, "for-each-ref", "--format=%(refname)", "refs/workflow-claims")
	if err != nil {
		return err
	}
	for _, ref := range strings.Fields(claims) {
		text, err := r.Git(ctx, "cat-file", "blob", ref)
		if err != nil {
			return err
		}
		var claim struct{ PID int }
		if err := json.Unmarshal([]byte(text), &claim); err != nil || alive(claim.PID) {
			return fmt.Errorf("%s is held by a process at work: %s", ref, text)
		}
		_ = os.Remove(r.inGit(ref + ".lock")) // a killed git may hold this lock
		if _, err := r.Git(ctx, "update-ref", "-d", ref); err != nil {
			return err
		}
	}
	if err := r.doctor(ctx); err != nil {
		return err
	}
	status, err := r.Git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err == nil && status != "" {
		err = fmt.Errorf("the working tree differs from HEAD:\n%s", indent(status))
	}
	return err
}

// doctor fails if git wf doctor finds anything except what kills leave behind and --fix repairs: working directories,
// and lock files of refs that nobody needs to write any more.
func (r *Repo) doctor(ctx context.Context) error {
	o, err := r.WF(ctx, "doctor")
	if err == nil && o.Exit == 1 && littered(o.Out) {
		if o, err = r.WF(ctx, "doctor", "--fix"); err == nil {
			o, err = r.WF(ctx, "doctor")
		}
	}
	if err != nil || o.Exit != 0 {
		return errors.Join(err, fmt.Errorf("doctor finds: %s", o))
	}
	return nil
}

// littered reports whether every finding is about leftovers of kills. Each finding starts a line with its code; its
// repair is indented, and the last line is a count.
func littered(report string) bool {
	for line := range strings.Lines(report) {
		code, _, finding := strings.Cut(line, ": ")
		if finding && !strings.HasPrefix(line, " ") && code != "stale-lock" && code != "scratch" {
			return false
		}
	}
	return true
}

// alive reports whether the process exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return p.Signal(syscall.Signal(0)) == nil
}

// released reports claims left after a command ended normally.
func (r *Repo) released(ctx context.Context) error {
	claims, err := r.Git(ctx, "for-each-ref", "refs/workflow-claims")
	if err == nil && claims != "" {
		err = fmt.Errorf("claims are left:\n%s", indent(claims))
	}
	return err
}
