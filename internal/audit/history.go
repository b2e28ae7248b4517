package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"gitwf/internal/plan"
)

// step is one commit of a history, and what it does to the tree of one of its parents.
type step struct {
	commit   plan.OID
	parents  []plan.OID
	trailers map[string]string // the last of each key
	changes  []change
}

// change is what git says of one path, by a letter: A added, M changed, D removed, T of another type.
type change struct{ status, path string }

// history checks that every commit that the revisions select only adds paths to each of its parents; plan.json, or
// policy.json, alone may change. Each parent counts, because what a merge leaves out may be in any of them; so no commit
// can lose what any commit before it recorded. A deep audit also asks of each whether it is a legal event.
func (a *auditor) history(revs ...string) error {
	if err := a.store.PrefetchTrees(a.ctx, revs...); err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	if a.deep {
		cut, err := a.store.Cut(a.ctx, revs...)
		if err != nil {
			return err
		}
		a.cut, a.made = map[plan.OID]bool{}, map[string]bool{}
		for _, c := range cut {
			a.cut[c] = true
		}
	}
	n := 0
	err := a.store.Follow(a.ctx, nil, func(out *bufio.Reader) error {
		return eachStep(out, func(s *step) {
			if n++; n%1000 == 0 {
				a.progress("%s: event %d", a.id, n)
			}
			for _, c := range s.changes {
				a.recorded(c, s.commit)
			}
			if a.deep && !a.cut[s.commit] {
				a.event(s)
			}
		})
	}, append([]string{
		"-c", "log.showSignature=false", "log", "-z", "--reverse", "--topo-order", "--diff-merges=separate", "--root", "-r", "--name-status",
		"--no-renames", "--no-relative", "--ignore-submodules=none", "--no-color", "--no-notes", "--encoding=UTF-8",
		"--format=%H%x00%P%x00%(trailers:only,unfold)",
	}, revs...)...)
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	return nil
}

// eachStep reads what git log prints. A name can hold anything but a NUL, so nothing but the order of the fields says what
// each is: three of a commit, then two of each path; and no letter is as long as an id.
func eachStep(out *bufio.Reader, fn func(*step)) error {
	var s *step
	for {
		field, err := out.ReadString(0)
		if errors.Is(err, io.EOF) && field == "" {
			if s != nil {
				fn(s)
			}
			return nil
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		field = strings.TrimLeft(field[:len(field)-1], "\n")
		rest := make([]string, 1, 2)
		isCommit := len(field) == 40
		if isCommit {
			rest = rest[:2]
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
				fn(s)
			}
			s = newStep(field, rest[0], rest[1])
		case s != nil:
			s.changes = append(s.changes, change{field, rest[0]})
		}
	}
}

func newStep(commit, parents, trailers string) *step {
	s := &step{commit: plan.OID(commit), trailers: map[string]string{}}
	for p := range strings.FieldsSeq(parents) {
		s.parents = append(s.parents, plan.OID(p))
	}
	for line := range strings.Lines(trailers) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			s.trailers[key] = value
		}
	}
	return s
}

// recorded takes up what a commit does to one path. What it does to several parents is said once.
func (a *auditor) recorded(c change, commit plan.OID) {
	if a.id == policyID && !policyPath(c.path) {
		if place := fmt.Sprintf("%.12s: %s", commit, c.path); !a.many("foreign", place) {
			a.find("foreign", place, a.outlaw(commit), "no record of a policy has this name")
		}
		return
	}
	if c.status == "A" || c.path == planFile || c.path == policyFile {
		return
	}
	place := fmt.Sprintf("%.12s: %s", commit, c.path)
	if a.said[place] || a.many("rewritten", place) {
		return
	}
	if a.said == nil {
		a.said = map[string]bool{}
	}
	a.said[place] = true
	mend := "git log " + string(commit) + " -- " + Quote(c.path)
	if a.deep {
		mend = a.outlaw(commit)
	}
	a.find("rewritten", place, mend, "the commit changes what was recorded (%s); records are written once", c.status)
}
