package audit

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

const activeRef = "WORKFLOW_HEAD"

// pointers looks at the active plan of every working tree.
func (s *surroundings) pointers() error {
	trees, err := s.store.Worktrees(s.ctx)
	if err != nil {
		return err
	}
	for _, w := range trees {
		in := gitstore.Invocation{Dir: w.Dir, Args: []string{"rev-parse", "--absolute-git-dir"}}
		out, err := s.store.GitIn(s.ctx, in)
		if err != nil {
			continue // it is gone
		}
		gitDir := filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))
		file, at := filepath.Join(gitDir, activeRef), "--git-dir="+gitDir
		target, err := s.store.Git(s.ctx, at, "symbolic-ref", "--quiet", activeRef)
		if ref, ok := gitstore.PointsTo(file); err != nil && ok {
			target, err = ref, nil
		}
		_, statErr := os.Lstat(file)
		id := plan.ID(strings.TrimPrefix(target, planRefs))
		place := activeRef
		if gitDir != s.store.GitDir() {
			place = plain.Line(w.Dir) + ": " + activeRef
		}
		switch {
		case err != nil && errors.Is(statErr, fs.ErrNotExist):
		case err != nil:
			f := s.report("bad-pointer", place, "rm "+shell.Word(file),
				"is no symbolic ref, so no plan is active there")
			f.Fix = func(context.Context) (string, error) {
				return "removed it; no plan is active there now", os.Remove(file)
			}
		case !strings.HasPrefix(target, planRefs) || !id.Valid() || !s.plans[id]:
			mend := "git " + shell.Word(at) + " symbolic-ref -d " + activeRef
			f := s.report("lost-pointer", place, mend, "stands for %s, and there is no such plan", plain.Line(target))
			f.Fix = func(ctx context.Context) (string, error) {
				_, err := s.store.Git(ctx, at, "symbolic-ref", "-d", activeRef)
				return "removed it; no plan is active there now", err
			}
		}
	}
	return s.ctx.Err()
}

// A git at work holds a lock for less than this, mostly.
const settledLock = 2 * time.Second

// locks removes what killed gits of ours had locked, and reports all else that stays locked.
func (s *surroundings) locks() {
	s.store.RemoveDeadLocks()
	for _, l := range s.store.Locks() {
		select {
		case <-time.After(settledLock - max(l.Age, 0)):
		case <-s.ctx.Done():
			return
		}
		st, err := os.Lstat(l.File)
		if err != nil {
			continue
		}
		l.Age = time.Since(st.ModTime())
		f := s.report("stale-lock", plain.Line(l.File), "rm "+shell.Word(l.File), "%s", l.Why())
		if l.Ours && l.Age > gitstore.OldLock {
			f.Fix = func(context.Context) (string, error) { return "removed it", os.Remove(l.File) }
		}
	}
}

// leftovers reports what killed processes left behind for this repository. It ignores what may be another repository's:
// the owner may run in another container, where we can't see it.
func (s *surroundings) leftovers() {
	for _, note := range s.store.DeadScratch() {
		dir := gitstore.ScratchDir(note)
		f := s.report("scratch", plain.Line(cmp.Or(dir, note)), "git wf doctor --fix",
			"left over from work on a task: its process is gone")
		f.Fix = func(context.Context) (string, error) { return "removed it", s.store.RemoveScratch(note) }
	}
}
