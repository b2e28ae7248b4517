package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/shell"
)

// landCheck is the setting with a command line that every tree passes before it lands.
const landCheck = "wf.land.check"

// line is a command line that a tree must pass to land.
type line struct {
	of        arrival // whose criterion it is; without a task it is the user's own
	criterion plan.Criterion
	own       bool // of a version that is to land
	red       bool // it fails without the change
}

// name is the line's, beside those of its own task.
func (l line) name() string {
	switch {
	case l.of.task == nil:
		return landCheck
	case l.own:
		return l.criterion.ID
	}
	return l.of.key() + ":" + l.criterion.ID
}

// verdict is what the lines say of a tree.
type verdict struct {
	why     string // it may not land; "" if it may
	flaky   bool
	silent  bool // no record is made of it
	results []plan.CriterionResult
}

// stopError says that the branch fails without the change, too, so nobody is to blame.
type stopError struct {
	error
	hint string
}

// Exit is a refusal's.
func (e *stopError) Exit() (int, string) { return fault.ExitRefused, e.hint }

func (e *stopError) Unwrap() error { return e.error }

// GiveUp is what gives up the line of a landed task, by its name in a landing; "" if the name is none.
func GiveUp(name string) string {
	of, criterion, _ := strings.Cut(name, ":")
	id, task, ok := strings.Cut(of, "/")
	if !ok {
		return ""
	}
	return fmt.Sprintf("git wf waive --plan %s %s --criterion %s -m WHY gives the line up", id, task, criterion)
}

// landReview is the setting that says whether a review must have seen the very tree that lands.
const landReview = "wf.land.review"

// reviewed holds a group back whose result no review has seen, if the user wants all results reviewed. Without the
// setting only what conflicts, and so becomes a new version, is reviewed again.
func (l *landing) reviewed(ctx context.Context, group []arrival, tree plan.OID) (v verdict, err error) {
	want, _, err := l.engine.Store.Config(ctx, landReview)
	switch {
	case err != nil || want == "" || want == "conflicts":
	case want != "always":
		err = fault.Usage("git config "+landReview+" always", "%s is %s: expected always or conflicts", landReview,
			plain.Quote(want))
	case !slices.ContainsFunc(group, func(c arrival) bool { return c.Base.After == tree }):
		v.why = "no review has seen the result, which has changes of the branch, too (" + landReview + ")"
	}
	return v, err
}

// judge runs the lines that the tree of a group must pass. A line that fails is run once more: only what passes both
// times has passed. What fails on the branch as it is, too, though it passed before, stops the landing.
func (l *landing) judge(ctx context.Context, group []arrival, draft gitstore.NewCommit) (v verdict, err error) {
	lines, err := l.lines(ctx, group, draft.Tree)
	if err != nil || len(lines) == 0 {
		return v, err
	}
	commit := l.batch.AddCommit(draft.Tree, l.tip, "What would land", time.Unix(0, 0))
	if err := l.batch.Flush(ctx); err != nil {
		return v, err
	}
	var failed []line
	for _, x := range lines {
		r, err := l.try(ctx, x, commit, draft.Tree)
		if err != nil {
			return v, err
		}
		if r.Result == plan.ResultFail && r.Severity == plan.Must {
			failed = append(failed, x)
		}
		r.ID = x.name()
		v.results = append(v.results, r)
	}
	for _, x := range failed {
		again, err := l.run(ctx, x, commit)
		switch {
		case err != nil:
			return v, err
		case again.Result != plan.ResultFail:
			v.flaky = true
			v.why = x.name() + " failed once and passed once on the result"
		default:
			v.flaky, v.why = false, x.name()+" fails on the result"
			return v, l.blame(ctx, x)
		}
	}
	return v, nil
}

// blame looks whether a line fails on the tip of the branch, too, and is no line that fails there because the change is
// missing: then landing stops.
func (l *landing) blame(ctx context.Context, x line) error {
	if x.red {
		return nil
	}
	bare, err := l.run(ctx, x, l.tip)
	if err != nil || bare.Result != plan.ResultFail {
		return err
	}
	if x.own {
		base, err := l.engine.begin(ctx, l.batch, *x.of.Base)
		if err != nil {
			return err
		}
		if before, err := l.run(ctx, x, base); err != nil || before.Result == plan.ResultFail {
			return err
		}
	}
	return &stopError{fmt.Errorf("landing stops: %s fails on %s without any change, too: %s", x.name(), l.Branch,
		firstLine(bare.Evidence)), cmp.Or(GiveUp(x.name()), "git log")}
}

// try runs a line, unless it has passed on the same tree in the same environment.
func (l *landing) try(ctx context.Context, x line, commit, tree plan.OID) (plan.CriterionResult, error) {
	environ, err := l.engine.commandEnv()
	if err != nil {
		return plan.CriterionResult{}, err
	}
	key := []string{x.criterion.Run, string(tree)}
	if strings.Contains(x.criterion.Run, "WF_") { // it looks at the task that it is a line of
		key = append(key, string(l.snap.ID), string(x.of.TaskID), x.name(), string(x.of.Tree))
	}
	for _, name := range []string{SandboxKey, prepareKey, keepKey} {
		value, _, err := l.engine.Store.Config(ctx, name)
		if err != nil {
			return plan.CriterionResult{}, err
		}
		key = append(key, value)
	}
	slices.Sort(environ)
	id := lineHash(strings.Join(append(key, environ...), "\x00"))
	if l.passed.has(id, l.engine.Now()) {
		return x.criterion.NewResult(plan.ReviewerChecks, plan.ResultPass, "passed on this tree before"), nil
	}
	r, err := l.run(ctx, x, commit)
	if err == nil && r.Result == plan.ResultPass {
		err = l.passed.add(id)
	}
	return r, err
}

// run runs a line in a checkout of a commit.
func (l *landing) run(ctx context.Context, x line, commit plan.OID) (plan.CriterionResult, error) {
	setup, leave, err := l.setUp(ctx, x, commit)
	if err != nil {
		return plan.CriterionResult{}, err
	}
	defer leave()
	results, err := check.Run(ctx, []plan.Criterion{x.criterion}, setup)
	if err != nil || len(results) != 1 {
		return plan.CriterionResult{}, errors.Join(err, ctx.Err())
	}
	return results[0], nil
}

// setUp sets a line up to run in a checkout of a commit; one of no task is the user's own.
func (l *landing) setUp(ctx context.Context, x line, commit plan.OID) (setup check.Setup, leave func(), err error) {
	e := l.engine
	environ, err := e.commandEnv()
	if err != nil {
		return setup, nil, err
	}
	setup.Timeout = time.Duration(l.snap.Plan.Limits().CheckTimeoutSeconds) * time.Second
	var remove func()
	if x.of.task != nil {
		w, err := e.prepare(ctx, x.of.snap, x.of.task, contract.RoleCheck, x.of.Inputs)
		if err != nil {
			return setup, nil, err
		}
		remove = w.remove
		setup.Scratch, setup.Environ = w.dir, process.Environ(environ, w.environ()...)
	} else {
		place, err := e.newScratch(ctx)
		if err != nil {
			return setup, nil, err
		}
		remove = place.remove
		setup.Scratch, setup.Repo = place.root, e.repo()
		setup.Environ = process.Environ(environ, "WF_REPO="+e.repo(), "WF_PLAN="+string(l.snap.ID))
	}
	closed, err := e.runCode(ctx, &setup, l.snap, func(context.Context, bool) (plan.OID, error) { return commit, nil })
	if err != nil {
		remove()
		return setup, nil, err
	}
	return setup, func() { closed(); remove() }, nil
}

// passed is a directory below the common git directory with an empty file for each line that passed on a
// tree in an environment. A line that failed is run again.
type passed string

// passedFor is how long a line that passed need not run again: what it runs with may change without a trace.
const passedFor = 12 * time.Hour

// openPassed also removes what counts no more.
func (e *Engine) openPassed() passed {
	p := passed(filepath.Join(e.Store.CommonDir(), "wf", "cache", "passed-lines"))
	files, _ := os.ReadDir(string(p))
	for _, f := range files {
		if !p.has(f.Name(), e.Now()) {
			_ = os.Remove(filepath.Join(string(p), f.Name()))
		}
	}
	return p
}

func (p passed) has(id string, now time.Time) bool {
	info, err := os.Stat(filepath.Join(string(p), id))
	return err == nil && now.Sub(info.ModTime()).Abs() < passedFor
}

func (p passed) add(id string) error {
	if err := os.MkdirAll(string(p), 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(p), id), nil, 0o666)
}

// runHooks runs the user's own pre-commit and commit-msg, as git commit would, in a checkout with a git directory of
// its own. It returns why the commit may not be made, "" if it may. commit-msg may change the message of the draft.
func (l *landing) runHooks(ctx context.Context, draft *gitstore.NewCommit) (why string, err error) {
	e := l.engine
	if l.options.Hook == nil {
		return "", nil
	}
	if l.hooks == nil {
		l.hooks = &[2]string{}
		for i, name := range []string{"pre-commit", "commit-msg"} {
			if l.hooks[i], err = l.options.Hook(ctx, name); err != nil {
				return "", err
			}
		}
	}
	found := *l.hooks
	if found == [2]string{} {
		return "", nil
	}
	commit := l.batch.AddCommit(draft.Tree, l.tip, "What would land", time.Unix(0, 0))
	if err := l.batch.Flush(ctx); err != nil {
		return "", err
	}
	setup, leave, err := l.setUp(ctx, line{}, commit)
	if err != nil {
		return "", err
	}
	defer leave()
	at, err := setup.Checkout(ctx, false)
	if err != nil {
		return "", err
	}
	dotGit := filepath.Join(at, ".git")
	own := []string{"GIT_DIR=" + dotGit, "GIT_WORK_TREE=" + at, "GIT_INDEX_FILE=" + filepath.Join(dotGit, "index")}
	git := func(args ...string) (string, error) {
		out, err := e.Store.GitIn(ctx, gitstore.Invocation{Args: args, Dir: at, Env: own})
		return strings.TrimSpace(string(out)), err
	}
	if _, err := git("update-ref", "--no-deref", "HEAD", string(l.tip)); err != nil {
		return "", err
	}
	if found[0] != "" {
		if why, err = l.hook(ctx, "pre-commit", shell.Word(found[0]), at, own); err != nil || why != "" {
			return why, err
		}
		if tree, err := git("write-tree"); err != nil || plan.OID(tree) != draft.Tree {
			return "the hook pre-commit changes what was approved", err
		}
	}
	if found[1] == "" {
		return "", nil
	}
	file := filepath.Join(at, ".git", "COMMIT_EDITMSG")
	if err := os.WriteFile(file, []byte(draft.Message), 0o666); err != nil {
		return "", err
	}
	why, err = l.hook(ctx, "commit-msg", shell.Word(found[1])+" "+shell.Word(file), at, own)
	if err != nil || why != "" {
		return why, err
	}
	message, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	named := draft.Message[strings.LastIndex(draft.Message, "\n\n"):]
	if !strings.Contains(string(message), strings.TrimSpace(named)) {
		return "the hook commit-msg removes the lines that name what was approved", nil
	}
	draft.Message = string(message)
	return "", nil
}

// hook runs a hook. It returns why the commit may not be made, "" if it may.
func (l *landing) hook(ctx context.Context, name, line, dir string, own []string) (string, error) {
	const most = 2000
	res, err := process.Run(ctx, process.Command{
		Line: line, Dir: dir, Env: append(process.Environ(l.engine.Environ, "GIT_EDITOR=:", "PWD="+dir), own...),
		Timeout: time.Duration(l.snap.Plan.Limits().CheckTimeoutSeconds) * time.Second, MaxOutput: most,
	})
	if err != nil || ctx.Err() != nil {
		return "", cmp.Or(err, ctx.Err())
	}
	if res.Reason == process.Exited && res.ExitCode == 0 {
		return "", nil
	}
	return fmt.Sprintf("the hook %s says no:\n%s", name, strings.TrimSpace(res.Tail)), nil
}
