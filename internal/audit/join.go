package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

const unknownJoin = "unknown-join"

// checkJoin checks that a commit with several parents joins two histories by the rule that it names.
func (a *auditor) checkJoin(s *step) error {
	a.chain = nil
	var tree, want plan.OID
	var err error
	code, why, mend := "bad-join", "", a.markIllegal
	switch rule := s.trailers[plan.TrailerJoin]; {
	case s.trailers["Wf-Event"] != plan.EventJoined:
		code, why = "bad-merge", fmt.Sprintf("merges %d histories, which no event but a join does", len(s.parents))
	case s.twice != "" || len(s.parents) != 2:
		why = "joins other than two histories, or says something twice"
	case rule != plan.JoinRule:
		code, why = unknownJoin, fmt.Sprintf("is a join by the rule %.12q, which this git wf does not know", rule)
		mend = func(plan.OID) string { return fault.UpgradeHint }
	default:
		if tree, err = a.store.Resolve(a.ctx, string(s.commit)+"^{tree}"); err == nil {
			want, err = a.store.JoinTree(a.ctx, a.store.NewBatch(), a.id, s.parents[0], s.parents[1])
		}
		if why, err = a.orWhy("", err); len(a.cut) > 0 {
			why = "" // a shallow clone can't tell
		} else if why == "" && tree != want {
			why = fmt.Sprintf("its tree is not what the join of %.12s and %.12s comes to", s.parents[0], s.parents[1])
		}
	}
	if why != "" {
		a.report(code, fmt.Sprintf("%.12s", s.commit), mend(s.commit), "%s", why)
	}
	return err
}

// checkFirstParents reports a history that has an older one, but not along first parents and through prunes: of its
// second history a join takes only parts.
func (a *auditor) checkFirstParents(old, next plan.OID) error {
	out, err := a.store.Git(a.ctx, "rev-list", "--first-parent", "--parents", string(next), "^"+string(old))
	if err != nil || out == "" {
		return err
	}
	last := strings.Fields(out[strings.LastIndexByte(out, '\n')+1:])
	if len(last) > 1 {
		if last[1] != string(old) {
			a.report("joined-backwards", fmt.Sprintf("%.12s", last[0]), a.markIllegal(plan.OID(last[0])),
				"has what the remote has, %.12s, as the second of its histories, and must have it as the first", old)
		}
		return nil
	}
	archives, err := a.store.Archives(a.ctx, plan.OID(last[0]))
	if err != nil || len(archives) == 0 {
		return err
	}
	return a.checkFirstParents(old, archives[len(archives)-1].Tip)
}

// checkRemote reports a plan that the remote which it is shared with can't take.
func (a *auditor) checkRemote() error {
	remote, err := a.store.MainRemote(a.ctx)
	tip, refErr := a.store.Ref(a.ctx, remoteRefs+remote+"/"+string(a.id))
	if err = errors.Join(err, refErr); err != nil || remote == "" || tip == "" {
		return err
	}
	if grew, err := a.store.IsAncestor(a.ctx, tip, a.tip); err != nil || !grew {
		return a.ctx.Err() // what can't be read is found elsewhere
	}
	return a.checkFirstParents(tip, a.tip)
}

// FirstParents audits the move of a plan's ref on a server: it grows along first parents alone.
func FirstParents(ctx context.Context, store *gitstore.Store, id plan.ID, old, next plan.OID) ([]Finding, error) {
	a := auditor{ctx: ctx, store: store, id: id}
	err := a.checkFirstParents(old, next)
	return a.findings, err
}
