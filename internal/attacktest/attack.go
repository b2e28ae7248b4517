package attacktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// A Difference is a push that the gate and the checker judge differently.
type Difference struct {
	Kind string // "landed", or "refused" for a correct push
	Why  string // what the checker or the gate objects to
	Ops  string // the operations that made the push
	Dir  string // the world before the push, if it was kept
	Text string // the moves, as a hook reads them
	At   string // who judged it
	Seen int    // how often a similar one was found
	like string // what similar ones have in common
}

func (d Difference) String() string {
	return fmt.Sprintf("%s, %s (%d like it): %s\n  made of: %s\n  in %s:\n%s", d.Kind, d.At, d.Seen, d.Why, d.Ops,
		cmp.Or(d.Dir, "a world that was not kept"), d.Text)
}

// Tally counts pushes, those that the gate accepted, those that a hook's script judged, and clones of servers.
type Tally struct {
	Pushes, Accepted, Scripts, Clones int
	Differences                       []Difference
}

func (t Tally) String() string {
	return fmt.Sprintf("%d pushes, %d taken, %d judged by a hook's script, %d clones, %d differences", t.Pushes,
		t.Accepted, t.Scripts, t.Clones, len(t.Differences))
}

// Gates attacks the gate with generated pushes.
type Gates struct {
	stage *stage
	Keep  string // copy worlds with a difference below this directory; "" for none
	Each  int    // pushes per world
	Log   func(Tally)

	blind bool // accept everything without asking the gate
}

// NewGates lets people make the plans to attack.
func NewGates(ctx context.Context, lab *chaostest.Lab) (*Gates, error) {
	s, err := newStage(ctx, lab)
	return &Gates{stage: s, Each: 250}, err
}

// Push makes n pushes, which the seed selects.
func (g *Gates) Push(ctx context.Context, seed uint64, n int) (Tally, error) {
	var t Tally
	for round := uint64(0); t.Pushes < n && ctx.Err() == nil; round++ {
		if err := g.round(ctx, rand.New(rand.NewPCG(seed, round)), min(g.Each, n-t.Pushes), &t); err != nil {
			return t, err
		}
		if g.Log != nil {
			g.Log(t)
		}
	}
	return t, ctx.Err()
}

func (g *Gates) round(ctx context.Context, rng *rand.Rand, n int, t *Tally) error {
	w, err := g.stage.newWorld(ctx, rng.IntN(3), g.blind)
	if err != nil {
		return err
	}
	defer w.remove()
	r := &round{Gates: g, generator: generator{world: w, Rand: rng, at: w.server}, tally: t}
	for _, p := range []*place{w.server, w.client} {
		if g.blind {
			break
		}
		store, err := gitstore.Open(ctx, p.cwd)
		if err != nil {
			return err
		}
		defer store.Close()
		p.store = store
	}
	for range n {
		t.Pushes++
		if err := r.one(ctx); err != nil {
			return err
		}
	}
	if g.blind {
		return nil
	}
	return r.cloned(ctx)
}

type round struct {
	*Gates
	generator
	tally *Tally
}

// one makes one push to the server or in the clone, or judges a range, and compares the gate's judgement with the
// checker's.
func (r *round) one(ctx context.Context) error {
	r.at = r.server
	server := true
	if r.chance(20) {
		r.at, server = r.client, false
	}
	moves := r.push()
	if len(moves) == 0 {
		return nil
	}
	next := r.at.oracle.after(maps.Clone(r.at.oracle.refs))
	for _, m := range moves {
		if next.refs[m.ref] != m.old {
			continue // git skips this ref and moves the others
		}
		next.refs[m.ref] = m.next
		if m.next == "" {
			delete(next.refs, m.ref)
		}
	}
	only := func(ref string) bool { return server || strings.HasPrefix(ref, "refs/heads/") }
	why := next.check(only)
	if why == "" && r.bad != "" && (server || strings.Contains(r.bad, "forged") ||
		strings.Contains(r.bad, "another name") || strings.HasPrefix(r.bad, "a policy")) {
		why = "must be refused: " + r.bad
	}
	if !server && !r.blind && r.chance(40) {
		return r.verify(ctx, moves, why)
	}
	var said string
	var err error
	how := "in process"
	policed := slices.ContainsFunc(moves, func(m move) bool { return m.ref == "refs/workflow/policy" })
	switch {
	case r.blind:
	case !server && policed || r.chance(50): // the clone's hooks follow a policy that the script lets in
		how = "by its script"
		r.tally.Scripts++
		said, err = r.at.script(ctx, moves)
	default:
		said, err = r.at.judge(ctx, moves, server)
	}
	if err != nil {
		return err
	}
	how = map[bool]string{true: "server ", false: "strict "}[server] + how
	if said != "" {
		// A push is judged by the policy before it, also if the push loosens it.
		if why == "" && r.legal && !policed && !r.malformed(moves) {
			return r.differ("refused", how, said, moves)
		}
		return nil
	}
	r.tally.Accepted++
	if why != "" {
		if err := r.differ("landed", how, why, moves); err != nil {
			return err
		}
		if !strings.Contains(why, "claim") { // it may vouch for later pushes
			return nil
		}
	}
	r.at.oracle = next
	if r.blind {
		return nil
	}
	refs := map[string]string{}
	for _, m := range moves {
		refs[m.ref] = next.refs[m.ref]
	}
	return setRefs(r.at.gitDir, refs)
}

// malformed reports whether a move brings a malformed tree. Such a tree gets in where nothing protected is touched, and
// what is made of it afterwards is refused (docs/gate.md).
func (r *round) malformed(moves []move) bool {
	var in func(tree string, depth int) bool
	in = func(tree string, depth int) bool {
		return r.objects.flawed(tree) || depth < 12 && slices.ContainsFunc(r.objects.entries(tree), func(e entry) bool {
			return in(e.id, depth+1)
		})
	}
	return slices.ContainsFunc(moves, func(m move) bool {
		_, h, _ := r.objects.parsed(m.next)
		return slices.ContainsFunc(h["tree"], func(tree string) bool { return in(tree, 0) })
	})
}

// verify asks git wf verify about the ranges that the moves bring.
func (r *round) verify(ctx context.Context, moves []move, why string) error {
	if strings.HasPrefix(why, "must be refused") {
		return nil
	}
	for _, m := range moves {
		if !strings.HasPrefix(m.ref, "refs/heads/") || m.next == "" || m.old == "" {
			continue
		}
		next := *r.at.oracle
		next.refs, next.before = maps.Clone(next.refs), map[string]string{m.ref: m.old}
		next.refs[m.ref] = m.next
		next.clean = next.history(m.old)
		why := next.check(func(ref string) bool { return ref == m.ref })
		policy, err := r.at.store.Policy(ctx)
		if err != nil {
			return err
		}
		report, err := gate.New(r.at.store, policy).Range(ctx, m.old+".."+m.next)
		if err == nil && report.OK() && why != "" {
			return r.differ("landed", "verify", why, []move{m})
		}
		if why == "" && r.legal && err == nil && !report.OK() && !r.malformed([]move{m}) {
			return r.differ("refused", "verify", findings(report), []move{m})
		}
	}
	return nil
}

func findings(report *gate.Report) string {
	var all []string
	for _, f := range report.Findings {
		all = append(all, fmt.Sprintf("%s: %s: %s", f.Code, f.Path, f.Message))
	}
	return strings.Join(all, "; ")
}

// judge asks the gate in this process. "" means no objection; a push that the gate can't judge is an objection.
func (p *place) judge(ctx context.Context, moves []move, server bool) (string, error) {
	policy, err := p.store.Policy(ctx)
	if err != nil {
		return "", err
	}
	var all []gate.Move
	for _, m := range moves {
		if !server && !strings.HasPrefix(m.ref, "refs/heads/") && !strings.HasPrefix(m.ref, "refs/workflow/") || !server &&
			m.next == "" {
			continue // the script never asks
		}
		all = append(all, gate.Move{Ref: m.ref, Old: plan.OID(m.old), New: plan.OID(m.next)})
	}
	report, err := gate.New(p.store, policy).Moves(ctx, all, server)
	switch {
	case err != nil && ctx.Err() == nil:
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	return findings(report), nil
}

const zeros = "0000000000000000000000000000000000000000"

func lines(moves []move) string {
	var b strings.Builder
	for _, m := range moves {
		fmt.Fprintf(&b, "%s %s %s\n", cmp.Or(m.old, zeros), cmp.Or(m.next, zeros), m.ref)
	}
	return b.String()
}

// script runs the hook as git would.
func (p *place) script(ctx context.Context, moves []move) (string, error) {
	cmd := exec.CommandContext(ctx, p.hook, p.args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.cwd, p.env, strings.NewReader(lines(moves))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return "", errors.Join(err, ctx.Err())
	}
	if err != nil {
		return cmp.Or(strings.TrimSpace(string(out)), err.Error()), nil
	}
	return "", nil
}

var (
	ids     = regexp.MustCompile(`[0-9a-f]{12,40}`)
	details = regexp.MustCompile(`topic-[0-9]|t[0-9]+|PAGE-[12]|WFS-[a-z]+|v[0-9]+|The_[a-z]+|page.txt|style.css`)
)

// differ records a difference, and keeps the first of its kind.
func (r *round) differ(kind, how, why string, moves []move) error {
	ops := slices.Clone(r.ops)
	slices.Sort(ops)
	d := Difference{Kind: kind, Why: why, Ops: strings.Join(slices.Compact(ops), ", "), At: how, Text: lines(moves),
		Seen: 1, like: kind + how[:6] + details.ReplaceAllString(ids.ReplaceAllString(why, "_"), "_")}
	for i, have := range r.tally.Differences {
		if have.like == d.like {
			r.tally.Differences[i].Seen++
			return nil
		}
	}
	if err := r.keep(&d, fmt.Sprint(len(r.tally.Differences))); err != nil {
		return err
	}
	r.tally.Differences = append(r.tally.Differences, d)
	return nil
}

func (r *round) keep(d *Difference, name string) error {
	if r.Keep == "" || r.blind {
		return nil
	}
	d.Dir = filepath.Join(r.Keep, name)
	if err := os.RemoveAll(d.Dir); err != nil {
		return err
	}
	if err := os.CopyFS(d.Dir, os.DirFS(r.dir)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.Dir, "moves"), []byte(d.String()), 0o666)
}

// cloned clones the server as anybody would, checks out every branch and tag, and compares the files with what the
// checker expected.
func (r *round) cloned(ctx context.Context) error {
	r.at, r.ops = r.server, []string{"clone"}
	git := func(dir string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = dir, r.lab.Env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	work := filepath.Join(r.dir, "clone")
	if out, err := git(r.dir, "clone", "-q", "--no-checkout", "server.git", "clone"); err != nil {
		return r.differ("landed", "server: clone", "a plain git can't clone it: "+out, nil)
	}
	r.tally.Clones++
	for ref := range r.server.oracle.refs {
		short, ok := strings.CutPrefix(ref, "refs/heads/")
		if ok {
			short = "origin/" + short
		} else if short, ok = strings.CutPrefix(ref, "refs/tags/"); !ok {
			continue
		}
		commit, err := git(work, "rev-parse", "-q", "--verify", short+"^{commit}")
		if err != nil {
			continue
		}
		want := map[string]bool{}
		for _, u := range r.server.oracle.state(strings.TrimSpace(commit)) {
			for line := range strings.SplitSeq(strings.TrimSuffix(u.all, "\x00"), "\x00") {
				if f := strings.SplitN(line, " ", 3); len(f) == 3 {
					want[f[2]+" "+f[1]] = true
				}
			}
		}
		if _, err := git(work, "checkout", "-q", "-f", "--detach", short); err != nil {
			continue // checkout stopped at a name that git does not write
		}
		for _, root := range append(r.server.oracle.roots(), "Deliverables", "deliverables.") {
			err := filepath.WalkDir(filepath.Join(work, root), func(p string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return nil //nolint:nilerr // not there
				}
				name, _ := filepath.Rel(work, p)
				out, err := git(work, "hash-object", "--no-filters", "--", name)
				if err == nil && !want[filepath.ToSlash(name)+" "+strings.TrimSpace(out)] {
					return fmt.Errorf("%s of %s", name, ref)
				}
				return nil
			})
			if err != nil {
				return r.differ("landed", "server: clone", "a checkout has more than its commit: "+err.Error(), nil)
			}
		}
	}
	return os.RemoveAll(work)
}
