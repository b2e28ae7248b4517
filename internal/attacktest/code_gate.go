package attacktest

import (
	"cmp"
	"context"
	"strings"

	"gitwf/internal/gate"
	"gitwf/internal/plan"
)

// An answer is what the gate says of moves.
type answer struct {
	said string // "" for no objection
	hint string // what each objection offers, "" if one of them offers nothing
	how  string
}

// ask asks the gate in one of its ways.
func (w *codeWorld) ask(p *place, moves []move) (a answer, err error) {
	if w.blind {
		return answer{how: "nobody"}, nil
	}
	alone := len(moves) == 1 && strings.HasPrefix(moves[0].ref, "refs/heads/") && moves[0].next != ""
	switch n := w.IntN(200); {
	case n < 20 && alone:
		return p.askRange(w.ctx, moves[0], p.oracle.refs["refs/heads/main"])
	case n < 23:
		w.tally.Scripts++
		a.how = "script"
		a.said, err = p.script(w.ctx, moves)
		if _, rest, ok := strings.Cut(a.said, "hint: "); ok {
			a.hint = rest
		}
		return a, err
	}
	return p.askMoves(w.ctx, moves, p == w.world.server)
}

// askMoves asks as the hooks do, in this process. A clone's script asks neither about tags nor about deletions.
func (p *place) askMoves(ctx context.Context, moves []move, server bool) (a answer, err error) {
	a.how = map[bool]string{true: "server", false: "strict"}[server]
	policy, err := p.store.Policy(ctx)
	if err != nil {
		return a, err
	}
	var all []gate.Move
	for _, m := range moves {
		branch := strings.HasPrefix(m.ref, "refs/heads/") || strings.HasPrefix(m.ref, "refs/workflow/")
		if server || branch && m.next != "" {
			all = append(all, gate.Move{Ref: m.ref, Old: plan.OID(m.old), New: plan.OID(m.next)})
		}
	}
	report, err := gate.New(p.store, policy).Moves(ctx, all, server)
	return a.with(report, err), ctx.Err()
}

// askRange asks as git wf verify does.
func (p *place) askRange(ctx context.Context, m move, main string) (a answer, err error) {
	a.how = "verify"
	policy, err := p.store.Policy(ctx)
	if err != nil {
		return a, err
	}
	report, err := gate.New(p.store, policy).Range(ctx, cmp.Or(m.old, main)+".."+m.next)
	return a.with(report, err), ctx.Err()
}

// with adds what the gate found. A push that it can't judge is an objection.
func (a answer) with(report *gate.Report, err error) answer {
	if err != nil {
		a.said = err.Error()
		return a
	}
	a.said = findings(report)
	var hints []string
	for _, f := range report.Findings {
		if f.Hint == "" {
			return a
		}
		hints = append(hints, f.Hint)
	}
	a.hint = strings.Join(hints, "\n")
	return a
}
