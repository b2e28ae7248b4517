package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Act is a command that writes, in a repository where it is to be done, with what it comes to without a fault.
type Act struct {
	Name string
	args []string

	repo    *Repo
	took    time.Duration
	exits   []int  // of the command, and of the same one again
	once    string // what is recorded then
	repeats bool   // the same one again is meant a second time, as a second note is
}

// acts are the commands that write, by where they begin: a step of the scenario, "code" or the name of a workflow. before
// lists the commands that lead there.
var acts = []struct {
	name, from string
	before     [][]string
	args       []string
}{
	{"plan --amend", "artifact", nil, []string{"plan", "--amend", "-f", "LAB/amended.yaml", "-m", "better"}},
	{"split", "artifact", nil, []string{"split", "MAKE-2", "-f", "LAB/parts.yaml"}},
	{"note", "artifact", nil, []string{"note", "decisions", "so be it"}},
	{"pause", "artifact", nil, []string{"pause", "-m", "later"}},
	{"resume", "artifact", [][]string{{"pause"}}, []string{"resume"}},
	{"abandon", "artifact", nil, []string{"abandon", "GOAL-1", "-m", "no need"}},
	{"checkout", "run", nil, []string{"checkout"}},
	{"doctor --fix", "run", nil, []string{"doctor", "--fix"}},
	{"review --reject", "review", nil, []string{"review", "HAND-1", "--reject", "-m", "no"}},
	{"rerun", "export", nil, []string{"rerun", "MAKE-1"}},
	{"complete", "export", nil, []string{"complete"}},
	{"prune --history", "export", nil, []string{"prune", "--history"}},
	{"policy set", "export", nil, []string{"policy", "set", "--maintainer", "ada@example.com"}},
	{"land", "code", nil, []string{"land"}},
	{"land --one", "code", nil, []string{"land", "--one"}},
	{"run of code", "code", [][]string{{"rerun", "ONE-1"}}, []string{"run", "--land"}},
	{"review of code", "code", nil, []string{"review", "TWO-1", "--reject", "-m", "no"}},
	{"undo", "code", [][]string{{"land"}}, []string{"undo", "TWO-1"}},
	{"start", "code", [][]string{{"review", "TWO-1", "--reject", "-m", "no"}}, []string{"start", "TWO-1"}},
	{"run of brainstorm", "brainstorm", nil, nil},
	{"run of iterdev", "iterdev", nil, nil},
	{"run of lifecycle", "lifecycle", nil, nil},
	{"run of spec", "spec", nil, nil},
	{"run of blackboard", "blackboard", nil, nil},
}

const partsText = `title: Parts
tasks:
  - {task_id: MAKE-2.1, title: Two, estimated_person_days: 1, covers: [R1], deliverable_spec: {format: txt, filename: two.txt}, run: 'echo two >"$WF_OUT/two.txt"', acceptance_criteria: [{id: A1, statement: It says two., run: grep -x two two.txt}]}
  - {task_id: MAKE-2.2, title: More, estimated_person_days: 1, depends_on: [MAKE-2.1], covers: [R1], deliverable_spec: {format: txt, filename: more.txt}, run: 'echo more >"$WF_OUT/more.txt"', acceptance_criteria: [{id: A1, statement: It says more., run: grep -x more more.txt}]}
`

// NewActs makes the repositories, and does each command once, and once more, without a fault.
func (s *Stages) NewActs(ctx context.Context) ([]*Act, error) {
	amended := strings.Replace(planText, "title: One", "title: The first", 1)
	for name, text := range map[string]string{"amended.yaml": amended, "parts.yaml": partsText} {
		if err := os.WriteFile(s.Lab.file(name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	code, err := NewLanding(ctx, s.Lab)
	if err != nil {
		return nil, err
	}
	var all []*Act
	for _, step := range s.Lab.Steps() {
		all = append(all, &Act{Name: step.Name + " (documents)", args: step.Args, repo: s.Before[step.Name]})
	}
	for _, a := range acts {
		act := &Act{Name: a.name}
		for _, arg := range a.args {
			act.args = append(act.args, strings.ReplaceAll(arg, "LAB", s.Lab.Dir))
		}
		from := s.Before[a.from]
		switch {
		case a.from == "code":
			from = code.Repo
		case from == nil:
			w, err := s.Lab.NewWorkflow(ctx, a.from)
			if err != nil {
				return nil, err
			}
			from, act.args = w.Repo, w.run
		}
		if act.repo, err = from.Copy(); err != nil {
			return nil, err
		}
		for _, args := range a.before {
			if _, err := act.repo.Must(ctx, args...); err != nil {
				return nil, err
			}
		}
		all = append(all, act)
	}
	for _, act := range all {
		if err := act.learn(ctx); err != nil {
			return nil, fmt.Errorf("%s, without a fault: %w", act.Name, err)
		}
	}
	return all, nil
}

// learn finds out what the command comes to.
func (a *Act) learn(ctx context.Context) error {
	r, err := a.repo.Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	for i := range 2 {
		began := time.Now()
		o, err := r.WF(ctx, a.args...)
		if err != nil {
			return err
		}
		if i == 0 && o.Exit != 0 && o.Exit != 3 && a.Name != "run-to-rest (documents)" {
			return fmt.Errorf("expected another exit code of %s", o)
		}
		recorded, err := r.recorded(ctx)
		if err != nil {
			return err
		}
		if a.once == "" {
			a.once, a.took = recorded, time.Since(began)
		}
		a.exits, a.repeats = append(a.exits, o.Exit), recorded != a.once
	}
	return nil
}

// byChance is what differs from time to time: a commit, which has a date, and how many workers did not come back.
var byChance = regexp.MustCompile(`( as |attempt a)[0-9a-f]+`)

// recorded is what a repository has: the events of each plan, the commits of each branch, the state of the files, and the
// branches of the worktrees.
// Workers that did not come back have left a record each, which is no event of the work.
func (r *Repo) recorded(ctx context.Context) (string, error) {
	refs, err := r.Git(ctx, "for-each-ref", "--format=%(refname)", "refs/workflow", "refs/heads")
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, ref := range strings.Fields(refs) {
		log, err := r.Git(ctx, "log", "--format=%s", ref)
		if err != nil {
			return "", err
		}
		lines := slices.DeleteFunc(strings.Split(log, "\n"), func(s string) bool { return strings.HasSuffix(s, ": lost") })
		for i := range lines {
			lines[i] = byChance.ReplaceAllString(lines[i], "$1*")
		}
		slices.Sort(lines)
		fmt.Fprintf(&all, "%s:\n%s", ref, indent(strings.Join(lines, "\n")))
	}
	status, err := r.Git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return "", err
	}
	trees, err := r.Git(ctx, "worktree", "list", "--porcelain")
	for line := range strings.Lines(trees) {
		if word, _, _ := strings.Cut(line, " "); word == "branch" || word == "locked" {
			all.WriteString(line)
		}
	}
	return all.String() + status, err
}

// Kill kills the command after a share of its time, and gives it again. Nothing may be lost, happen twice or need a
// person: then all is recorded as it is without a fault. A command that means a second one when it is repeated is
// repeated only if the first one recorded less than all. hit is false if it had ended before.
func (a *Act) Kill(ctx context.Context, rng *rand.Rand) (hit bool, again time.Duration, err error) {
	r, err := a.repo.Copy()
	if err != nil {
		return false, 0, err
	}
	defer r.Remove()
	defer os.RemoveAll(r.Dir + ".two-1-2") // of start
	share, group := rng.Float64(), rng.IntN(2) == 0
	o, err := r.killOne(ctx, time.Duration(share*float64(a.took)), group, a.args...)
	if err != nil || o.Exit != -1 {
		return false, 0, err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s killed at %.3f of its time, group %v: %w\nbefore that: %s", a.Name, share, group,
			fmt.Errorf(format, args...), o)
	}
	if !group { // nobody is as fast as to meet the git that goes on alone
		time.Sleep(200 * time.Millisecond)
	}
	for _, note := range r.gitNotes() { // what git has started may live on for a moment
		held := flock.New(note)
		if _, err := held.TryLockContext(ctx, 10*time.Millisecond); err != nil {
			return true, 0, err
		}
		held.Close()
	}
	has, err := r.recorded(ctx)
	if err != nil || a.repeats && has == a.once {
		return true, 0, err
	}
	exits := a.exits[:1]
	if has == a.once {
		exits = a.exits
	}
	began := time.Now()
	next, err := r.WF(ctx, a.args...)
	again = time.Since(began)
	if err != nil {
		return true, again, fail("%w", err)
	}
	if !slices.Contains(exits, next.Exit) {
		return true, again, fail("it needs a person: expected exit %d of %s", exits, next)
	}
	if err := r.sound(ctx); err != nil {
		return true, again, fail("%w", err)
	}
	has, err = r.recorded(ctx)
	switch {
	case err != nil:
		return true, again, fail("%w", err)
	case has != a.once:
		return true, again, fail("recorded is\n%s\nwithout a fault\n%s\nafter %s", indent(has), indent(a.once), next)
	}
	for _, left := range [][]string{r.glob("*.lock"), r.glob("refs/heads/*.lock"), r.gitNotes()} {
		if len(left) > 0 {
			return true, again, fail("left behind: %s", left)
		}
	}
	return true, again, nil
}

// gitNotes are the notes of gits that lock what is the user's.
func (r *Repo) gitNotes() []string { return r.glob("wf-git-*") }

func (r *Repo) glob(pattern string) []string {
	files, _ := filepath.Glob(r.inGit(pattern))
	return files
}
