package gate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"gitwf/internal/audit"
	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Move is a ref that is about to change its value; "" means no value.
type Move struct {
	Ref      string
	Old, New plan.OID
}

// ReadMoves reads one move per line, "<old> <new> <ref>", as git tells its hooks.
func ReadMoves(r io.Reader) ([]Move, error) {
	var moves []Move
	s := bufio.NewScanner(r)
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) != 3 {
			return nil, fmt.Errorf("can't read the move of a ref: %q", s.Text())
		}
		moves = append(moves, Move{Ref: f[2], Old: orNone(f[0]), New: orNone(f[1])})
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read the moves of refs: %w", err) // a move that is not read is not judged
	}
	return moves, nil
}

func orNone(oid string) plan.OID {
	if oid == zeroOID {
		return ""
	}
	return plan.OID(oid)
}

// Moves judges the moves of one transaction together: a plan that comes with a bundle may prove it. For a branch or tag
// it judges every commit that the new value brings; a plan's history may only grow, by legal events. On a client it
// reports what a remote-tracking branch has and does not refuse it. A deletion brings nothing. A server refuses to
// delete a plan; on a client a deletion looks the same as git pack-refs at work.
func (g *Gate) Moves(ctx context.Context, moves []Move, server bool) (*Report, error) {
	g.arriving, g.moving = true, true
	r := newReport()
	if server {
		if err := g.asTheyAre(ctx, moves, r); err != nil || !r.OK() {
			return r, err
		}
	}
	for _, m := range moves {
		if err := g.planMove(ctx, m, server, r); err != nil {
			return nil, err
		}
	}
	if server {
		if err := g.keepsArchives(ctx, moves, r); err != nil {
			return nil, err
		}
	}
	for _, m := range moves {
		_, isArchive := gitstore.IsArchiveRef(m.Ref) // of a plan's history, which is no code
		if server && r.refuseSpelling(m.Ref) || m.New == "" || isPlanRef(m.Ref) || isArchive && !server {
			continue
		}
		commits, err := g.holdsCommits(ctx, m.Ref, m.New, server, r)
		if err != nil {
			return nil, err
		}
		if !commits {
			continue
		}
		known, err := g.known(ctx, m, server)
		if err != nil {
			return nil, err
		}
		revs := append([]string{string(m.New), "--not"}, known...)
		before, err := g.store.CommitOf(ctx, string(m.Old))
		if err != nil {
			return nil, err
		}
		g.atWork = !server && isWorkRef(m.Ref)
		g.branch = strings.TrimPrefix(m.Ref, "refs/heads/")
		more, err := g.rangeMoved(ctx, m.Ref, before, m.New, revs)
		g.atWork = false
		if err == nil && !server {
			err = g.setShared(ctx, more, revs...)
		}
		if err != nil {
			return nil, err
		}
		r.merge(more)
	}
	return r, nil
}

// asTheyAre finds moves that can't happen as stated: from another value than the ref has, or one ref twice. The old
// value is the pusher's claim, and git checks it only when it moves that ref. By then the push's other refs have moved:
// the bundle would land without the plan that proved it.
func (g *Gate) asTheyAre(ctx context.Context, moves []Move, r *Report) error {
	const few = 200
	var names []string
	if len(moves) <= few {
		names = each.Of(moves, func(m Move) string { return m.Ref })
	}
	now, err := g.store.Refs(ctx, names...)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range moves {
		switch have := now[m.Ref]; {
		case seen[m.Ref]:
			r.refuse("moved-twice", m.Ref, "a push moves a ref once", "")
		case have != m.Old:
			r.refuse("stale", m.Ref, "has moved meanwhile", "git fetch, and push again")
		}
		seen[m.Ref] = true
	}
	return nil
}

// planMove audits the move of a plan's ref or the policy's, and lets the new value prove the bundles of the push.
func (g *Gate) planMove(ctx context.Context, m Move, server bool, r *Report) error {
	if !isPlanRef(m.Ref) {
		return nil
	}
	if m.New == "" {
		if server {
			r.refuse("plan-deleted", m.Ref, "what is recorded can't be deleted", "")
		}
		return nil
	}
	if kind, err := g.store.Git(ctx, "cat-file", "-t", string(m.New)); err != nil || kind != "commit" {
		r.refuseKind(m.Ref, kind)
		return ctx.Err()
	}
	findings, err := audit.Move(ctx, g.store, m.Ref, m.Old, m.New)
	if err != nil {
		return err
	}
	id := plan.ID(strings.TrimPrefix(m.Ref, "refs/workflow/"))
	if !server {
		findings = audit.ExceptNewer(findings)
	} else if id.Valid() && m.Old != "" && len(findings) == 0 {
		if findings, err = audit.FirstParents(ctx, g.store, id, m.Old, m.New); err != nil {
			return err
		}
	}
	more, err := g.judgeMove(ctx, m, id, findings)
	if err != nil {
		return err
	}
	findings = append(findings, more...)
	for _, f := range findings {
		if server {
			f.Mend = "" // is for who has the repository
		}
		r.Findings = append(r.Findings, Finding{
			Code: f.Code, Path: m.Ref, PlanID: id, Hint: f.Mend,
			Message: "no legal history: " + f.Place + ": " + f.Message,
		})
	}
	switch {
	case len(findings) > 0:
	case m.Ref == gitstore.PolicyRef:
		g.policies = append(g.policies, m.New)
	case id.Valid():
		g.tips[id] = []plan.OID{m.New}
		g.audited[planTip{id, m.New}] = true
	}
	return nil
}

// judgeMove checks by the policy before the move: who may change the policy, who prunes, four eyes.
func (g *Gate) judgeMove(ctx context.Context, m Move, id plan.ID, found []audit.Finding) ([]audit.Finding, error) {
	switch {
	case len(found) > 0:
		return nil, nil
	case m.Ref == gitstore.PolicyRef:
		return audit.PolicyMove(ctx, g.store, g.policy.Commit, m.New)
	case id.Valid():
		more, err := audit.PruneMove(ctx, g.store, g.policy, id, m.Old, m.New)
		if err != nil || len(more) > 0 || !g.policy.FourEyes {
			return more, err
		}
		return audit.FourEyes(ctx, g.store, id, m.Old, m.New)
	}
	return nil, nil
}

// refuse adds a finding about a ref.
func (r *Report) refuse(code, ref, message, hint string) {
	r.Findings = append(r.Findings, Finding{Code: code, Path: ref, Message: message, Hint: hint})
}

func (r *Report) merge(more *Report) {
	r.Findings = append(r.Findings, more.Findings...)
	r.Shared = append(r.Shared, more.Shared...)
	r.Waived = append(r.Waived, more.Waived...)
	r.Bundles = append(r.Bundles, more.Bundles...)
	r.Changes = append(r.Changes, more.Changes...)
	r.Commits += more.Commits
}
