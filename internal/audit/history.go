package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/shell"
)

// step is one commit of a history, and what it does to the tree of one of its parents.
type step struct {
	commit   plan.OID
	parents  []plan.OID
	author   plan.Actor
	by       string // whose the event is (plan.Recorder)
	reviewer string // whose a review in it is (plan.ReviewerOf)
	trailers map[string]string
	twice    string // a trailer that an event has at most once and this commit has more often
	changes  []change
	added    map[string]bool // the paths that the commit changes, and whether it adds them
}

// change is what git says of a path: A added, M changed, D removed, T of another type; and what is there.
type change struct {
	status, path, mode string
	old, oid           plan.OID
}

// history checks every commit that the revisions select: it must be a legal event, and compared with its first parent
// it may only add paths; only plan.json (or policy.json) may change. A join may leave out what its other parent has.
func (a *auditor) history(revs ...string) error {
	if err := a.prefetch(revs...); err != nil {
		return err
	}
	cut, err := a.store.Cut(a.ctx, revs...)
	if err != nil {
		return err
	}
	a.cut, a.chain = map[plan.OID]bool{}, nil
	for _, c := range cut {
		a.cut[c] = true
	}
	n := 0
	err = a.store.Follow(a.ctx, nil, func(out *bufio.Reader) error {
		return eachStep(out, func(s *step) error {
			if n++; n%1000 == 0 {
				a.progress("%s: event %d", a.id, n)
			}
			for _, c := range s.changes {
				a.checkChange(c, s)
			}
			if a.cut[s.commit] {
				return nil // nobody can tell what it did
			}
			if len(s.parents) == 0 {
				a.roots = append(a.roots, s.commit)
			}
			return a.checkEvent(s)
		})
	}, append([]string{
		"-c", "log.showSignature=false", "log", "-z", "--reverse", "--topo-order", "--diff-merges=first-parent",
		"--root", "-r",
		"--raw", "--no-abbrev",
		"--no-renames", "--no-relative", "--ignore-submodules=none", "--no-color", "--no-notes", "--encoding=UTF-8",
		"--format=%H%x00%P%x00%an%x00%ae%x00%cn%x00%(trailers:only,unfold)",
	}, revs...)...)
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	return nil
}

// prefetch fetches, in a partial clone, what plan.json is made from: its versions, and tasks that make plans.
func (a *auditor) prefetch(revs ...string) error {
	if a.id == policyID || !a.store.Partial(a.ctx) {
		return nil
	}
	out, err := a.store.Git(a.ctx, append(append([]string{
		"--no-literal-pathspecs", "-c", "log.showSignature=false", "log", "-z", "--diff-merges=first-parent",
		"--root", "-r", "--raw", "--no-abbrev",
		"--no-renames", "--no-relative", "--no-color", "--no-notes", "--format=",
	}, revs...), "--", ":(top,literal)"+planFile, ":(top,glob)tasks/*/PLAN-*/**")...)
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	oids := each.Pick(strings.Split(out, "\x00"), func(field string) (plan.OID, bool) { // every second one is a path
		c, ok := newChange(strings.TrimSpace(field), "")
		return c.oid, ok && c.status != "D" && strings.HasPrefix(c.mode, "100")
	})
	return a.store.Prefetch(a.ctx, oids)
}

// eachStep reads what git log prints. A name can hold anything but a NUL, so the order of the fields tells what each
// is: six for a commit, then two for each path. A field that begins with a colon is no id.
func eachStep(out *bufio.Reader, fn func(*step) error) error {
	var s *step
	for {
		field, err := out.ReadString(0)
		if errors.Is(err, io.EOF) && field == "" {
			if s != nil {
				return fn(s)
			}
			return nil
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		field = strings.TrimLeft(field[:len(field)-1], "\n")
		rest := make([]string, 1, 5)
		isCommit := len(field) == 40
		if isCommit {
			rest = rest[:5]
		}
		for i := range rest {
			if rest[i], err = out.ReadString(0); err != nil {
				return io.ErrUnexpectedEOF
			}
			rest[i] = rest[i][:len(rest[i])-1]
		}
		switch {
		case isCommit:
			if s != nil {
				if err := fn(s); err != nil {
					return err
				}
			}
			s = newStep(field, rest)
		case s != nil:
			c, ok := newChange(field, rest[0])
			if !ok {
				return fmt.Errorf("git log printed %q", field)
			}
			s.changes = append(s.changes, c)
		}
	}
}

// singleTrailers are the trailers that an event has at most once.
var singleTrailers = []string{"Wf-Event", "Wf-Task", "Wf-Artifact", "Wf-Review", "Wf-Verdict", "Wf-Score", "Wf-Agent",
	"Wf-Seat", "Wf-Criterion", plan.TrailerJoin}

// newStep makes a step of the fields that follow a commit's id.
func newStep(commit string, f []string) *step {
	author, committer := plan.Actor{Name: f[1], Email: f[2]}, plan.Actor{Name: f[3]}
	s := &step{commit: plan.OID(commit), parents: gitstore.OIDs(f[0]), trailers: map[string]string{}, author: author,
		by: policy.Recorder(author, committer)}
	for line := range strings.Lines(f[4]) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		if _, had := s.trailers[key]; had && slices.Contains(singleTrailers, key) {
			s.twice = key
		}
		s.trailers[key] = value
	}
	s.reviewer = policy.ReviewerOf(s.trailers["Wf-Event"], author, committer)
	return s
}

// named reports whether a name is the one that a commit gives.
func (s *step) named(name, by string) bool {
	return gitstore.Recorded{Author: s.author, Reviewer: by}.Names(name)
}

// newChange reads ":<mode> <mode> <id> <id> <letter>".
func newChange(raw, path string) (c change, ok bool) {
	f := strings.Fields(raw)
	if len(f) != 5 || !strings.HasPrefix(raw, ":") || f[4] == "" {
		return c, false
	}
	return change{status: f[4][:1], path: path, mode: f[1], old: plan.OID(f[2]), oid: plan.OID(f[3])}, true
}

// checkChange judges a commit's change of one path.
func (a *auditor) checkChange(c change, s *step) {
	place := fmt.Sprintf("%.12s: %s", s.commit, c.path)
	switch {
	case a.id == policyID && !policyPath(c.path):
		a.report("foreign", place, a.markIllegal(s.commit), "no record of a policy has this name")
		return
	case c.status == "A", c.path == planFile, c.path == policyFile,
		s.trailers["Wf-Event"] == plan.EventMasked && a.masks(c):
		return
	}
	mend := a.markIllegal(s.commit)
	if mend == "" {
		mend = "git log " + string(s.commit) + " -- " + shell.Word(c.path)
	}
	a.report("rewritten", place, mend, "the commit changes what was recorded (%s); records are written once", c.status)
}
