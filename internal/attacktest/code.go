package attacktest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gitwf/internal/chaostest"
	"gitwf/internal/gitstore"
)

// Codes lets three people change code that is protected, and attacks what they made.
type Codes struct {
	lab    *chaostest.Lab
	Keep   string // copy worlds with a difference below this directory; "" for none
	Each   int    // pushes in one world
	Length int    // pushes in one history
	Jobs   int    // worlds at a time; 0 for one
	Log    func(CodeTally)

	blind bool     // ask no gate: what is right by the oracle is accepted
	kinds []attack // to choose from
	debug func(string)
	only  bool // do what people do, attack nothing, and carry out the hints of what is refused
}

// NewCodes returns people who work in a lab, and somebody who attacks them.
func NewCodes(lab *chaostest.Lab) *Codes {
	return &Codes{lab: lab, Each: 1200, Length: 30, kinds: attacksOf}
}

// NewSteps returns people who only do what is right. Where they are refused, they do what the refusal says.
func NewSteps(lab *chaostest.Lab) *Codes {
	return &Codes{lab: lab, Each: 1200, Length: 30, only: true}
}

// CodeTally counts what was done, by its kind.
type CodeTally struct {
	Pushes, Scripts, Worlds int            // all; those that a hook's script judged, or that people typed
	Took                    time.Duration  // the making of worlds included
	Legal                   map[string]int // what people did that is right
	Taken                   int            // and the gate accepted
	Refused                 map[string]int // and which it refused
	NoHint                  map[string]int // and said nothing of what to do
	Wrong                   map[string]int // what people did, or git for them, that is not right, and was refused
	Attacks                 map[string]int // that came to something that is not right
	Harmless                map[string]int // attacks that came to something right
	Ways                    map[string]int // steps that were refused and whose hint led on
	NoWay                   map[string]int // and those whose hint did not
	Differences             []Difference
}

func newCodeTally() CodeTally {
	t := CodeTally{}
	for _, m := range t.counts() {
		*m = map[string]int{}
	}
	return t
}

func (t *CodeTally) counts() []*map[string]int {
	return []*map[string]int{&t.Legal, &t.Refused, &t.NoHint, &t.Wrong, &t.Attacks, &t.Harmless, &t.Ways, &t.NoWay}
}

func (t CodeTally) String() string {
	seconds := max(t.Took.Seconds(), 0.001)
	s := fmt.Sprintf("%d pushes in %d worlds (%.0f a second), %d judged by a script\n", t.Pushes, t.Worlds,
		float64(t.Pushes)/seconds, t.Scripts)
	s += fmt.Sprintf("  right %d, taken %d, refused %d (%.2f %%), without a hint %d: %v\n", total(t.Legal), t.Taken,
		total(t.Refused), 100*float64(total(t.Refused))/float64(max(1, total(t.Legal))), total(t.NoHint), t.Legal)
	s += fmt.Sprintf("  refused though right: %v\n  not right, and refused (%d): %v\n", t.Refused, total(t.Wrong), t.Wrong)
	if n := total(t.Ways) + total(t.NoWay); n > 0 {
		s += fmt.Sprintf("  hints that led on %d of %d: %v; that did not: %v\n", total(t.Ways), n, t.Ways, t.NoWay)
	}
	return s + fmt.Sprintf("  attacks %d: %v\n  harmless attacks %d: %v\n  %d kinds of differences", total(t.Attacks),
		t.Attacks, total(t.Harmless), t.Harmless, len(t.Differences))
}

func total(m map[string]int) (sum int) {
	for _, n := range m {
		sum += n
	}
	return sum
}

// Work makes n pushes, which the seed selects. Given the number of a world, and not one below 0, it makes those of that
// one alone.
func (c *Codes) Work(ctx context.Context, seed uint64, only, n int) (CodeTally, error) {
	all := newCodeTally()
	worlds := (n + c.Each - 1) / c.Each
	first := max(0, only)
	if only >= 0 {
		n, worlds = c.Each, 1
	}
	began := time.Now()
	var mutex sync.Mutex
	var workers sync.WaitGroup
	var failed error
	next := 0
	for range max(1, c.Jobs) {
		workers.Go(func() {
			mutex.Lock()
			defer mutex.Unlock()
			for next < worlds && failed == nil && ctx.Err() == nil {
				i, t := next, newCodeTally()
				next++
				mutex.Unlock()
				err := c.round(ctx, seed, uint64(first+i), min(c.Each, n-i*c.Each), &t)
				mutex.Lock()
				all.add(t)
				if err != nil && failed == nil {
					failed = fmt.Errorf("seed %d, world %d: %w", seed, first+i, err)
				}
				if all.Took = time.Since(began); c.Log != nil {
					c.Log(all)
				}
			}
		})
	}
	workers.Wait()
	if n := total(all.Refused); c.only && all.Pushes >= 1000 && n*100 > total(all.Legal) {
		all.Differences = append(all.Differences, Difference{Kind: "refused", Seen: 1,
			Why: fmt.Sprintf("%d of %d legal steps, and 1 %% may be: %v", n, total(all.Legal), all.Refused)})
	}
	return all, cmp.Or(failed, ctx.Err())
}

// add adds another tally.
func (t *CodeTally) add(other CodeTally) {
	t.Pushes, t.Scripts, t.Worlds, t.Taken = t.Pushes+other.Pushes, t.Scripts+other.Scripts, t.Worlds+other.Worlds,
		t.Taken+other.Taken
	mine := t.counts()
	for i, counts := range other.counts() {
		for kind, n := range *counts {
			(*mine[i])[kind] += n
		}
	}
	for _, d := range other.Differences {
		if i := slices.IndexFunc(t.Differences, func(have Difference) bool { return have.like == d.like }); i >= 0 {
			t.Differences[i].Seen += d.Seen
		} else {
			t.Differences = append(t.Differences, d)
		}
	}
}

// A codeWorld is a server and a clone in strict mode of one stage, in which one history after the other begins.
type codeWorld struct {
	*Codes
	*rand.Rand
	ctx    context.Context
	stage  *codeStage
	world  *world
	git    *plumbing
	oracle *lineOracle
	tally  *CodeTally
	every  []*codeChange // of the plans as they end
	theirs []*codeChange // of a plan with the same name in another repository
	name   string        // the seed and number of this world

	start map[string]string
	made  []string // legal commits of this history
	ops   []string
	goal  func() bool // what the step was for has come about
	shell []string    // the step as people type it
}

func (c *Codes) round(ctx context.Context, seed, round uint64, n int, t *CodeTally) error {
	rng := rand.New(rand.NewPCG(seed, round))
	s, err := newCodeStage(ctx, c.lab, round, rng)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(s.dir))
	if !s.protected {
		return fmt.Errorf("the code was not protected: %s", strings.Join(s.said, "\n"))
	}
	w := &codeWorld{Codes: c, Rand: rng, ctx: ctx, stage: s, tally: t, name: fmt.Sprintf("seed %d, world %d", seed, round)}
	if err := w.build(); err != nil {
		return err
	}
	defer w.remove()
	t.Worlds++
	for end := t.Pushes + n; t.Pushes < end; {
		if err := w.history(min(c.Length, end-t.Pushes)); err != nil {
			return err
		}
	}
	if c.blind {
		return nil
	}
	return w.askPeople()
}

func (w *codeWorld) build() (err error) {
	w.world = &world{stage: &w.stage.stage, server: &place{}, client: &place{}}
	objectsFrom := filepath.Join(w.stage.dir, "objects")
	w.start = map[string]string{"refs/heads/main": w.stage.first, "refs/heads/release": w.stage.first,
		"refs/workflow/policy": w.stage.policies()[0]}
	if w.blind {
		w.world.dir, err = os.MkdirTemp(w.lab.Dir, "world-")
	} else {
		err = w.world.build(w.ctx, w.start)
		objectsFrom = w.world.server.objects + "\n" + filepath.Join(w.world.client.gitDir, "objects")
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
	w.oracle = newLineOracle(o, w.git, w.stage)
	last := func(prefix string) (all []*codeChange) {
		for _, name := range slices.Sorted(maps.Keys(w.stage.plans)) {
			chain := w.stage.plans[name]
			if ref, ok := strings.CutPrefix(name, prefix); ok && strings.HasPrefix(ref, "refs/workflow/WFS-") {
				all = append(all, w.oracle.changes(filepath.Base(ref), chain[len(chain)-1])...)
			}
		}
		return all
	}
	w.theirs, w.every = last("theirs "), last("")
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
func (w *codeWorld) history(n int) error {
	refs := maps.Clone(w.start)
	landed := w.chance(30)
	if w.chance(50) { // the protection was widened
		refs["refs/workflow/policy"] = w.stage.policies()[1]
	}
	for _, ref := range slices.Sorted(maps.Keys(w.stage.plans)) {
		chain := w.stage.plans[ref]
		id, ok := strings.CutPrefix(ref, "refs/workflow/")
		if !ok || !strings.HasPrefix(id, "WFS-") {
			continue
		}
		at := len(chain) - 1
		switch {
		case w.stage.undoes[id] != "": // it is there from the beginning, or never: it knows no history here
			if w.chance(40) && !landed {
				continue
			}
		case w.chance(35) && !landed: // what has landed was approved then
			at = len(chain)/2 + w.IntN(len(chain)-len(chain)/2)
		}
		refs[ref] = chain[at]
	}
	if landed {
		refs["refs/heads/main"] = w.stage.landed
	}
	for _, p := range []*place{w.world.server, w.world.client} {
		if err := w.reset(p, refs); err != nil {
			return err
		}
	}
	w.made, w.ops = []string{refs["refs/heads/main"]}, nil
	for range n {
		w.tally.Pushes++
		var err error
		if w.only || w.chance(45) {
			err = w.operation()
		} else {
			err = w.attack()
		}
		if err != nil {
			return err
		}
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
	}
	return nil
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

// counts reports whether what a ref has must be legal. In a clone people commit to the branches of git wf start what
// nobody has approved yet.
func (w *codeWorld) counts(p *place, ref string) bool {
	return strings.HasPrefix(ref, "refs/tags/") || strings.HasPrefix(ref, "refs/heads/") &&
		!(p == w.world.client && strings.HasPrefix(ref, "refs/heads/wf/"))
}

// judge says what is wrong with the commits and tips that the moves bring; "" if nothing is. It is open where a new
// branch has a version that was set aside: no tip says what it had before.
func (w *codeWorld) judge(p *place, moves []move) (why string, open bool) {
	refs := maps.Clone(p.oracle.refs)
	for _, m := range moves {
		if refs[m.ref] = m.next; m.ref == "refs/workflow/policy" {
			refs[m.ref] = m.old // a push is judged by the policy before it
		}
	}
	f := w.oracle.knownAs(refs)
	has := func(c string) bool {
		for ref, id := range p.oracle.refs {
			if w.counts(p, ref) && w.oracle.history(p.oracle.peeled(id))[c] {
				return true
			}
		}
		return false
	}
	for _, m := range moves {
		tip := p.oracle.peeled(m.next)
		if kind, _, _ := w.oracle.parsed(tip); kind != "commit" || !w.counts(p, m.ref) {
			continue
		}
		own := w.oracle.history(m.old)
		for c := range w.oracle.history(tip) {
			if own[c] || w.oracle.exempt(c) || p == w.world.server && has(c) || m.old == "" && has(c) {
				continue
			}
			if why := cmp.Or(w.oracle.check(f, c).why, w.oracle.merged(f, c), w.oracle.back(f, c),
				w.oracle.takenBack(f, c)); why != "" {
				return fmt.Sprintf("%s: %.12s: %s; ", m.ref, c, why), false
			}
		}
		for _, v := range w.oracle.check(f, tip).have {
			open = open || m.old == "" && v != none && !v.now
		}
		if strings.HasPrefix(m.ref, "refs/heads/") && m.old != "" && !own[tip] {
			if why := w.oracle.moved(f, m.old, tip); why != "" {
				return fmt.Sprintf("%s: its tip: %s; ", m.ref, why), false
			}
		}
	}
	return "", open
}

// operation does one thing that people do.
func (w *codeWorld) operation() error {
	var d deed
	var p *place
	var moves []move
	for tries := 0; len(moves) == 0; tries++ {
		if tries == 9 {
			return nil
		}
		d = deedsOf[w.deed()]
		w.ops, w.goal, w.shell = nil, nil, nil
		p, moves = d.do(w)
		moves = w.since(p, moves)
	}
	why, open := w.judge(p, moves)
	if w.only && !w.blind && why == "" && !open && len(w.shell) > 0 && w.chance(3) {
		w.tally.Scripts++
		w.tally.Legal[d.name]++
		return w.wayOut(d, p, moves, answer{how: "typed"})
	}
	a, err := w.ask(p, moves)
	if err != nil {
		return err
	}
	accepted := a.said == ""
	if w.blind {
		accepted = why == ""
	}
	switch {
	case why != "" && accepted:
		return w.differ("landed", d.name, a, why, p, moves)
	case why != "":
		w.tally.Wrong[d.name+": "+genre(why)]++
		if w.debug != nil {
			w.debug(d.name + ": " + strings.Join(w.ops, ", ") + ": " + why + "\n" + w.describe(p, moves))
		}
		// To merge is right, and only what git makes of it is not. What was set aside needs somebody's work.
		if w.only && w.goal != nil && genre(why) != "not in force" {
			return w.wayOut(deed{name: d.name + " that git makes wrong"}, p, moves, a)
		}
		return nil
	case !accepted && open:
		w.tally.Wrong["a new branch"]++
		return nil
	case !accepted:
		w.tally.Legal[d.name]++
		w.tally.Refused[d.name]++
		if a.hint == "" {
			w.tally.NoHint[d.name]++
		}
		if w.only {
			return w.wayOut(d, p, moves, a)
		}
		return nil
	}
	w.tally.Legal[d.name]++
	w.tally.Taken++
	return w.accept(p, moves)
}

// accept moves the refs.
func (w *codeWorld) accept(p *place, moves []move) error {
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
	why, _ := w.judge(p, moves)
	if why == "" {
		w.tally.Harmless[a.name]++
		return nil
	}
	w.tally.Attacks[a.name]++
	got, err := w.ask(p, moves)
	if err != nil || got.said != "" || w.blind {
		return err
	}
	return w.differ("landed", a.name, got, why, p, moves)
}

// workInProgress commits to a branch that git wf start made. Nothing there has to be approved, and it makes nothing
// legal elsewhere.
func (w *codeWorld) workInProgress(tip string) error {
	p := w.world.client
	moves := w.since(p, []move{{ref: "refs/heads/wf/code-1", next: tip}})
	if len(moves) == 0 || w.blind {
		return nil
	}
	got, err := p.askMoves(w.ctx, moves, false)
	if err != nil {
		return err
	}
	if got.said != "" {
		return w.differ("refused", "work in progress", got, got.said, p, moves)
	}
	p.oracle.refs[moves[0].ref] = tip
	return setRefs(p.gitDir, map[string]string{moves[0].ref: tip})
}

// differ records a difference, and keeps the first of its kind.
func (w *codeWorld) differ(kind, what string, a answer, why string, p *place, moves []move) error {
	place := "server"
	if p == w.world.client {
		place = "client"
	}
	like := kind + what
	if at := strings.LastIndex(why, ": "); kind == "landed" && at > 0 {
		like += ids.ReplaceAllString(strings.Join(strings.Fields(why)[2:], " "), "")
	}
	d := Difference{Kind: kind, Why: why, Ops: what + ": " + strings.Join(w.ops, ", "),
		At: place + ", " + a.how + ", " + w.name, Text: lines(moves), Seen: 1, like: kind + what + genre(like)}
	for i, have := range w.tally.Differences {
		if have.like == d.like {
			w.tally.Differences[i].Seen++
			return nil
		}
	}
	d.Text += w.describe(p, moves)
	if w.Keep != "" && !w.blind {
		world := strings.NewReplacer(", ", "-", " ", "-").Replace(w.name)
		d.Dir = filepath.Join(w.Keep, world, fmt.Sprint(len(w.tally.Differences)))
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

// genre is what the oracle objects to, without names.
func genre(why string) string {
	for _, word := range []string{"there twice", "times before", "not where", "elsewhere", "a part of", "times, not",
		"a merge has", "undone", "taken back", "not in force"} {
		if strings.Contains(why, word) {
			return word
		}
	}
	return why
}

// describe tells what the commits of a difference change, and which changes there are.
func (w *codeWorld) describe(p *place, moves []move) string {
	var b strings.Builder
	refs := maps.Clone(p.oracle.refs)
	for _, m := range moves {
		refs[m.ref] = m.next
	}
	f := w.oracle.knownAs(refs)
	versions := func(c string) string {
		var all []string
		for task, v := range w.oracle.check(f, c).have {
			if v != none {
				all = append(all, task+" "+v.version)
			}
		}
		slices.Sort(all)
		return strings.Join(all, ", ") + " " + w.oracle.check(f, c).why
	}
	for _, m := range moves {
		old := w.oracle.history(m.old)
		for c := range w.oracle.history(p.oracle.peeled(m.next)) {
			if old[c] || w.oracle.exempt(c) || strings.HasPrefix(m.ref, "refs/workflow/") {
				continue
			}
			_, h, message := w.oracle.parsed(c)
			fmt.Fprintf(&b, "commit %s, parents %v, has %s\n    %s\n", c, h["parent"], versions(c),
				strings.ReplaceAll(message, "\n", "\n    "))
		}
		if m.old != "" {
			fmt.Fprintf(&b, "before: %s has %s\n", m.old, versions(m.old))
		}
	}
	for _, c := range append(slices.Clone(f.versions), f.undos...) {
		fmt.Fprintf(&b, "%s in force=%v, undoes %q:", c, c.now, c.undoes)
		for _, p := range union(c.a, c.b) {
			fmt.Fprintf(&b, " %s %.13s %.13s,", p, c.a[p], c.b[p])
		}
		b.WriteString("\n")
	}
	return b.String()
}
