package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/shell"
)

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
