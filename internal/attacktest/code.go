package attacktest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
)

// Codes lets three developers and two agents change code that is protected, and attacks what they made.
type Codes struct {
	lab     *chaostest.Lab
	Keep    string // copy worlds with a difference below this directory; "" for none
	Each    int    // histories in one world
	Steps   int    // operations of one history
	Attacks int    // and attacks
	Log     func(CodeTally)

	blind bool     // ask no gate: what is right by the oracle is accepted
	kinds []attack // to choose from
}

// NewCodes returns people who work in a lab.
func NewCodes(lab *chaostest.Lab) *Codes {
	return &Codes{lab: lab, Each: 40, Steps: 14, Attacks: 12, kinds: attacksOf}
}

// CodeTally counts what was done, by its kind.
type CodeTally struct {
	Histories, Scripts int
	Legal, Attacks     map[string]int // judged
	Taken              int            // legal operations that the gate accepted
	Beyond             map[string]int // operations that git did otherwise than the merge function would
	Overturned         map[string]int // operations that bring a version which was rejected meanwhile
	Unnamed            map[string]int // legal operations that nothing names and that need a merge
	UnnamedRefused     map[string]int // and which of those the gate refused
	Harmless           map[string]int // attacks that came to something legal
	Differences        []Difference
}

func (t CodeTally) String() string {
	return fmt.Sprintf("%d histories, %d legal operations (%d taken, %d judged by a script), %d attacks, %d differences\n"+
		"  legal: %v\n  not what a sequence of changes yields (%d): %v\n  overturned (%d): %v\n"+
		"  legal, but not named (%d; %d of them refused: %v): %v\n  attacks: %v\n  harmless attacks (%d): %v", t.Histories,
		total(t.Legal), t.Taken, t.Scripts, total(t.Attacks), len(t.Differences), t.Legal, total(t.Beyond),
		t.Beyond, total(t.Overturned), t.Overturned, total(t.Unnamed), total(t.UnnamedRefused), t.UnnamedRefused,
		t.Unnamed, t.Attacks, total(t.Harmless), t.Harmless)
}

func total(m map[string]int) (sum int) {
	for _, n := range m {
		sum += n
	}
	return sum
}

// Work makes n histories, which the seed selects.
func (c *Codes) Work(ctx context.Context, seed uint64, n int) (CodeTally, error) {
	t := CodeTally{Legal: map[string]int{}, Attacks: map[string]int{}, Beyond: map[string]int{},
		Overturned: map[string]int{}, Unnamed: map[string]int{}, UnnamedRefused: map[string]int{}, Harmless: map[string]int{}}
	for round := uint64(0); t.Histories < n && ctx.Err() == nil; round++ {
		if err := c.round(ctx, rand.New(rand.NewPCG(seed, round)), min(c.Each, n-t.Histories), &t); err != nil {
			return t, err
		}
		if c.Log != nil {
			c.Log(t)
		}
	}
	return t, ctx.Err()
}

// A codeWorld is a server and a clone in strict mode of one stage, in which one history after the other begins.
type codeWorld struct {
	*Codes
	*rand.Rand
	ctx    context.Context
	stage  *codeStage
	world  *world
	git    *plumbing
	oracle *codeOracle
	tally  *CodeTally
	every  []*codeChange // of the plans as they end
	theirs []*codeChange // of a plan with the same name in another repository

	start map[string]string
	made  []string // legal commits of this history
	ops   []string
}

func (c *Codes) round(ctx context.Context, rng *rand.Rand, n int, t *CodeTally) error {
	s, err := newCodeStage(ctx, c.lab, rng)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(s.dir))
	if !c.blind && !s.protected {
		return fmt.Errorf("the code was not protected: %s", strings.Join(s.said, "\n"))
	}
	w := &codeWorld{Codes: c, Rand: rng, ctx: ctx, stage: s, tally: t}
	if err := w.build(); err != nil {
		return err
	}
	defer w.remove()
	for range n {
		t.Histories++
		if err := w.history(); err != nil {
			return err
		}
	}
	return nil
}

func (w *codeWorld) build() (err error) {
	w.world = &world{stage: &w.stage.stage, server: &place{}, client: &place{}}
	objectsFrom := filepath.Join(w.stage.dir, "objects")
	w.start = map[string]string{"refs/heads/main": w.stage.first, "refs/heads/release": w.stage.first}
	if p := w.stage.plans["refs/workflow/policy"]; len(p) > 0 {
		w.start["refs/workflow/policy"] = p[w.stage.policy]
	}
	if w.blind {
		w.world.dir, err = os.MkdirTemp(w.lab.Dir, "world-")
	} else {
		err = w.world.build(w.ctx, w.start)
		objectsFrom = w.world.server.objects
	}
	if err != nil {
		return err
	}
	plain := filepath.Join(w.world.dir, "plain.git")
	o := (&objects{known: w.stage.objects}).clone(w.world.server.objects)
	if w.blind {
		o.dir = filepath.Join(plain, "objects")
	}
	if w.git, err = newPlumbing(w.ctx, w.lab.Env, plain, objectsFrom, o); err != nil {
		return err
	}
	w.oracle = &codeOracle{oracle: &oracle{objects: o}, git: w.git, full: map[string]files{},
		reached: map[string]map[string]bool{}}
	last := func(prefix string) map[string]string {
		refs := map[string]string{}
		for name, chain := range w.stage.plans {
			if ref, ok := strings.CutPrefix(name, prefix); ok && strings.HasPrefix(ref, "refs/workflow/WFS-") {
				refs[ref] = chain[len(chain)-1]
			}
		}
		return refs
	}
	w.oracle.refs = last("theirs ")
	w.theirs = w.oracle.changes()
	w.oracle.refs = last("")
	w.every = w.oracle.changes()
	for _, p := range []*place{w.world.server, w.world.client} {
		p.oracle = &oracle{objects: o}
		if w.blind {
			continue
		}
		if p.store, err = gitstore.Open(w.ctx, p.cwd); err != nil {
			return err
		}
	}
	return nil
}

func (w *codeWorld) remove() {
	for _, p := range []*place{w.world.server, w.world.client} {
		if p.store != nil {
			p.store.Close()
		}
	}
	w.git.close()
	w.world.remove()
}

// history begins anew, with plans at some of their states, and mixes what people do with attacks.
func (w *codeWorld) history() error {
	refs := maps.Clone(w.start)
	if w.chance(30) {
		refs["refs/heads/main"] = w.stage.landed
	}
	for _, ref := range slices.Sorted(maps.Keys(w.stage.plans)) {
		if chain := w.stage.plans[ref]; strings.HasPrefix(ref, "refs/workflow/WFS-") {
			at := len(chain) - 1
			if w.chance(35) {
				at = len(chain)/2 + w.IntN(len(chain)-len(chain)/2)
			}
			refs[ref] = chain[at]
		}
	}
	if refs["refs/heads/main"] == w.stage.landed {
		for ref, chain := range w.stage.plans { // it was approved when it landed
			if strings.HasPrefix(ref, "refs/workflow/WFS-") {
				refs[ref] = chain[len(chain)-1]
			}
		}
	}
	for _, p := range []*place{w.world.server, w.world.client} {
		if err := w.reset(p, refs); err != nil {
			return err
		}
	}
	w.made, w.ops = []string{refs["refs/heads/main"]}, nil
	for left, attacks := w.Steps, w.Attacks; left+attacks > 0 && w.ctx.Err() == nil; {
		if w.IntN(left+attacks) < left {
			left--
			if err := w.operation(); err != nil {
				return err
			}
		} else {
			attacks--
			if err := w.attack(); err != nil {
				return err
			}
		}
	}
	return w.ctx.Err()
}

func (w *codeWorld) reset(p *place, refs map[string]string) error {
	gone := map[string]string{}
	for ref := range p.oracle.refs {
		if refs[ref] == "" {
			gone[ref] = ""
		}
	}
	p.oracle.refs = maps.Clone(refs)
	if w.blind {
		return nil
	}
	if err := setRefs(p.gitDir, gone); err != nil {
		return err
	}
	return setRefs(p.gitDir, refs)
}

func (w *codeWorld) chance(percent int) bool { return w.IntN(100) < percent }

func (w *codeWorld) op(format string, args ...any) {
	w.ops = append(w.ops, fmt.Sprintf(format, args...))
}

// A verdict is what the oracle says about moves.
type verdict struct {
	once, legal, today, plain bool
	why                       string
}

// counts reports whether what a ref has must be legal. In a clone people commit to the branches of git wf start what
// nobody has approved yet.
func (w *codeWorld) counts(p *place, ref string) bool {
	return strings.HasPrefix(ref, "refs/tags/") || strings.HasPrefix(ref, "refs/heads/") &&
		!(p == w.world.client && strings.HasPrefix(ref, "refs/heads/wf/"))
}

// judge judges every commit that the moves bring. An overturned version may be anywhere but at the tip, and stay there.
func (w *codeWorld) judge(p *place, moves []move) verdict {
	refs := maps.Clone(p.oracle.refs)
	var had []string
	for ref, id := range refs {
		if w.counts(p, ref) {
			had = append(had, p.oracle.peeled(id))
		}
	}
	for _, m := range moves {
		refs[m.ref] = m.next
	}
	w.oracle.refs = refs
	// What was there before the code was protected is not judged.
	v, old := verdict{once: true, legal: true, today: true, plain: true}, p.oracle.history(append(had, w.stage.landed)...)
	for _, m := range moves {
		tip := p.oracle.peeled(m.next)
		if kind, _, _ := w.oracle.parsed(tip); kind != "commit" || !w.counts(p, m.ref) {
			continue
		}
		own, had := p.oracle.history(m.old), m.old
		if had == "" { // a new branch begins with main
			had = p.oracle.refs["refs/heads/main"]
		}
		for c := range p.oracle.history(tip) {
			if own[c] || p == w.world.server && old[c] || p == w.world.client && m.old == "" && old[c] {
				continue
			}
			j := w.oracle.judge(c)
			v.today, v.plain = v.today && j.today, v.plain && j.plain
			v.once = v.once && (old[c] || j.legal)
			if !old[c] && (!j.legal || c == tip && !j.today && !w.oracle.overturned(p.oracle.peeled(had))) {
				v.legal = false
				v.why += fmt.Sprintf("%s: %.12s: %s; ", m.ref, c, j.why)
				if j.legal {
					v.why += "it brings a version that was overturned; "
				}
			}
		}
	}
	return v
}

// operation does one thing that people do, and asks that it is not refused.
func (w *codeWorld) operation() error {
	var d deed
	var p *place
	var moves []move
	for tries := 0; len(moves) == 0; tries++ {
		if tries == 9 {
			return nil
		}
		for d = deedsOf[w.IntN(len(deedsOf))]; !w.chance(d.weight * 10); {
			d = deedsOf[w.IntN(len(deedsOf))]
		}
		w.ops = nil
		p, moves = d.do(w)
		moves = w.since(p, moves)
	}
	v := w.judge(p, moves)
	switch {
	case !v.once:
		w.tally.Beyond[d.name]++
	case !v.legal:
		w.tally.Overturned[d.name]++
	}
	said, how, err := w.ask(p, moves)
	if err != nil {
		return err
	}
	accepted := said == ""
	if w.blind {
		accepted = v.legal
	}
	w.tally.Legal[d.name]++
	if v.legal && !v.plain {
		w.tally.Unnamed[d.name]++
	}
	switch {
	case accepted && !v.legal:
		return w.differ("landed", d.name, how, v.why, p, moves)
	case !accepted && v.legal && v.plain && v.today:
		return w.differ("refused", d.name, how, said, p, moves)
	case !accepted && v.legal:
		w.tally.UnnamedRefused[d.name]++
	}
	if !accepted || how == "verify" && !w.blind {
		return nil
	}
	w.tally.Taken++
	refs := map[string]string{}
	for _, m := range moves {
		refs[m.ref] = m.next
		if p.oracle.refs[m.ref] = m.next; m.next == "" {
			delete(p.oracle.refs, m.ref)
		} else if strings.HasPrefix(m.ref, "refs/heads/") {
			w.made = append(w.made, m.next)
		}
	}
	if w.blind {
		return nil
	}
	return setRefs(p.gitDir, refs)
}

// since fills in what the refs have now, and drops what does not move.
func (w *codeWorld) since(p *place, moves []move) []move {
	for i := range moves {
		moves[i].old = p.oracle.refs[moves[i].ref]
	}
	return slices.DeleteFunc(moves, func(m move) bool { return m.old == m.next })
}

// ask asks the gate, in one of its ways.
func (w *codeWorld) ask(p *place, moves []move) (said, how string, err error) {
	server := p == w.world.server
	branches := !slices.ContainsFunc(moves, func(m move) bool {
		return !strings.HasPrefix(m.ref, "refs/heads/") || m.next == ""
	})
	switch n := w.IntN(100); {
	case w.blind:
		return "", "nobody", nil
	case n < 12 && branches && len(moves) == 1:
		said, err = w.verify(p, moves[0])
		return said, "verify", err
	case n < 20:
		w.tally.Scripts++
		said, err = p.script(w.ctx, moves)
		return said, "script", err
	default:
		said, err = p.judge(w.ctx, moves, server)
		return said, map[bool]string{true: "server", false: "strict"}[server], err
	}
}

func (w *codeWorld) verify(p *place, m move) (string, error) {
	policy, err := p.store.Policy(w.ctx)
	if err != nil {
		return "", err
	}
	from := m.old
	if from == "" {
		from = p.oracle.refs["refs/heads/main"]
	}
	report, err := gate.New(p.store, policy).Range(w.ctx, from+".."+m.next)
	if err != nil {
		return err.Error(), w.ctx.Err()
	}
	return findings(report), nil
}

// attack tries to land something that nobody approved.
func (w *codeWorld) attack() error {
	var a attack
	var tip string
	var extra []move
	for tries := 0; tip == ""; tries++ {
		if tries == 20 {
			return nil
		}
		if tries%5 == 0 {
			a = w.kinds[w.IntN(len(w.kinds))]
		}
		w.ops = nil
		tip, extra = a.make(w)
	}
	p, moves := w.deliver(tip)
	if p == w.world.client && w.chance(30) {
		if err := w.workInProgress(tip); err != nil {
			return err
		}
	}
	if p == w.world.client {
		extra = slices.DeleteFunc(extra, func(m move) bool { return m.ref == "refs/workflow/policy" })
	}
	moves = w.since(p, append(moves, extra...))
	if len(moves) == 0 {
		return nil
	}
	v := w.judge(p, moves)
	if v.legal {
		w.tally.Harmless[a.name]++
		return nil
	}
	w.tally.Attacks[a.name]++
	said, how, err := w.ask(p, moves)
	if err != nil || said != "" || w.blind {
		return err
	}
	return w.differ("landed", a.name, how, v.why, p, moves)
}

// workInProgress commits to a branch that git wf start made. Nothing there has to be approved, and it makes nothing
// legal elsewhere.
func (w *codeWorld) workInProgress(tip string) error {
	p := w.world.client
	moves := w.since(p, []move{{ref: "refs/heads/wf/code-1", next: tip}})
	if len(moves) == 0 || w.blind {
		return nil
	}
	said, err := p.judge(w.ctx, moves, false)
	if err != nil {
		return err
	}
	if said != "" {
		return w.differ("refused", "work in progress", "strict", said, p, moves)
	}
	p.oracle.refs[moves[0].ref] = tip
	return setRefs(p.gitDir, map[string]string{moves[0].ref: tip})
}

// differ records a difference, and keeps the first of its kind.
func (w *codeWorld) differ(kind, what, how, why string, p *place, moves []move) error {
	place := "server"
	if p == w.world.client {
		place = "client"
	}
	d := Difference{Kind: kind, Why: why, Ops: what + ": " + strings.Join(w.ops, ", "), At: place + ", " + how,
		Text: lines(moves), Seen: 1, like: kind + what}
	for i, have := range w.tally.Differences {
		if have.like == d.like {
			w.tally.Differences[i].Seen++
			return nil
		}
	}
	d.Text += w.describe(p, moves)
	if w.Keep != "" && !w.blind {
		d.Dir = filepath.Join(w.Keep, fmt.Sprint(len(w.tally.Differences)))
		if err := os.RemoveAll(d.Dir); err != nil {
			return err
		}
		if err := os.CopyFS(d.Dir, os.DirFS(w.world.dir)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.Dir, "moves"), []byte(d.String()), 0o666); err != nil {
			return err
		}
	}
	w.tally.Differences = append(w.tally.Differences, d)
	return nil
}

// describe tells what the commits of a difference change, and which changes there are.
func (w *codeWorld) describe(p *place, moves []move) string {
	var b strings.Builder
	old := map[string]bool{}
	for _, m := range moves {
		maps.Copy(old, p.oracle.history(m.old))
	}
	for _, m := range moves {
		for c := range p.oracle.history(p.oracle.peeled(m.next)) {
			if old[c] || strings.HasPrefix(m.ref, "refs/workflow/") {
				continue
			}
			_, h, message := w.oracle.parsed(c)
			fmt.Fprintf(&b, "commit %s, parents %v, %+v\n    %s\n", c, h["parent"], w.oracle.judge(c),
				strings.ReplaceAll(message, "\n", "\n    "))
		}
	}
	for _, c := range w.oracle.changes() {
		fmt.Fprintf(&b, "%s approved=%v once=%v:", c, c.now, c.ever)
		for _, p := range union(c.a, c.b) {
			fmt.Fprintf(&b, " %s %.13s %.13s,", p, c.a[p], c.b[p])
		}
		b.WriteString("\n")
	}
	return b.String()
}
