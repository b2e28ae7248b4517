package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// NewCommit is a commit to be made on a branch of the user's. The committer is the user.
type NewCommit struct {
	Tree, Parent plan.OID
	Author       plan.Actor
	Time         time.Time // of the author
	Message      string
}

// CommitTree makes a commit, and signs it if the user wants commits signed. No ref names it yet.
func (s *Store) CommitTree(ctx context.Context, c NewCommit) (plan.OID, error) {
	args := []string{"commit-tree", "-p", string(c.Parent), "-F", "-"}
	if sign, set, err := s.Config(ctx, "commit.gpgSign"); err != nil {
		return "", err
	} else if set && sign == "true" {
		args = append(args, "-S")
	}
	out, err := s.GitIn(ctx, Invocation{Args: append(args, string(c.Tree)), Stdin: strings.NewReader(c.Message), Env: []string{
		"GIT_AUTHOR_NAME=" + c.Author.Name, "GIT_AUTHOR_EMAIL=" + c.Author.Email,
		"GIT_AUTHOR_DATE=" + fmt.Sprintf("%d +0000", c.Time.Unix()),
	}})
	return plan.OID(strings.TrimSpace(string(out))), err
}

// AuthorOf returns who recorded a version.
func (s *Store) AuthorOf(ctx context.Context, snap *Snapshot, task plan.TaskID, version string) (plan.Actor, error) {
	path := task.Dir() + "/artifacts/" + version + "/artifact.json"
	out, err := s.Git(ctx, "-c", "log.showSignature=false", "log", "-1", "--no-color", "--format=%an%n%ae", "--end-of-options",
		string(snap.Commit), "--", ":(top,literal)"+path)
	name, email, ok := strings.Cut(out, "\n")
	if err == nil && !ok {
		err = fmt.Errorf("%s %s was recorded by nobody", task, version)
	}
	return plan.Actor{Name: name, Email: email}, err
}

// LandedOn returns the versions of a plan that commits between base and tip say they are, by task. Landing goes by it;
// it proves nothing.
func (s *Store) LandedOn(ctx context.Context, id plan.ID, base, tip plan.OID) (map[plan.TaskID]string, error) {
	const format = "%(trailers:key=Wf-Plan,valueonly,separator=)%x00%(trailers:key=Wf-Task,valueonly,separator=)%x00" +
		"%(trailers:key=Wf-Artifact,valueonly,separator=)"
	out, err := s.Git(ctx, "-c", "log.showSignature=false", "log", "--reverse", "--no-color", "--format="+format,
		"--end-of-options", string(base)+".."+string(tip))
	landed := map[plan.TaskID]string{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\x00")
		if len(f) == 3 && f[0] == string(id) {
			landed[plan.TaskID(f[1])] = f[2]
		}
	}
	return landed, err
}

// Advance moves a branch forward from one commit to another, once for all commits between them, with the worktree that
// has it checked out. It fails, and moves nothing, if the branch moved meanwhile, is being rebased or bisected, or if a
// file that is not committed is in the way.
func (s *Store) Advance(ctx context.Context, branch string, from, to plan.OID) error {
	ref := "refs/heads/" + branch
	busy, err := s.busyBranch(ref, branch)
	if err != nil {
		return err
	}
	if busy != "" {
		return fault.Refused("git status", "%s: %s", branch, busy)
	}
	dir, err := s.worktreeOf(ctx, ref)
	if err != nil {
		return err
	}
	if dir == "" {
		_, err := s.Git(ctx, "update-ref", "-m", "git wf land", ref, string(to), string(from))
		return err
	}
	if tip, err := s.Ref(ctx, ref); err != nil || tip != from {
		return moved(branch, err)
	}
	_, err = s.GitIn(ctx, Invocation{Dir: dir, Args: []string{"merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-autostash",
		string(to)}})
	if now, readErr := s.Ref(ctx, ref); err != nil && readErr == nil && now != from {
		return moved(branch, nil)
	}
	return err
}

func moved(branch string, err error) error {
	if err != nil {
		return err
	}
	return fault.Refused("git wf land", "%s moved while the changes were tried", branch)
}

// worktreeOf returns the worktree that has a branch checked out, "" if none has.
func (s *Store) worktreeOf(ctx context.Context, ref string) (string, error) {
	out, err := s.Git(ctx, "worktree", "list", "--porcelain")
	dir := ""
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case key == "worktree":
			dir = value
		case key == "branch" && value == ref:
			return dir, err
		}
	}
	return "", err
}

// busyBranch says what a worktree is doing with a branch that must not move meanwhile.
func (s *Store) busyBranch(ref, branch string) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(s.CommonDir(), "worktrees", "*"))
	if err != nil {
		return "", err
	}
	for _, dir := range append(dirs, s.CommonDir()) {
		for _, busy := range []struct{ file, holds, what string }{
			{"rebase-merge/head-name", ref, "is being rebased"}, {"rebase-apply/head-name", ref, "is being rebased"},
			{"BISECT_START", branch, "is being bisected"},
		} {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(busy.file)))
			if err == nil && strings.TrimSpace(string(data)) == busy.holds {
				return busy.what, nil
			}
		}
	}
	return "", nil
}
