package attacktest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	hintLines = regexp.MustCompile(`(?m)^\s*(?:remote: )?hint: (.*)$`)
	prose     = regexp.MustCompile(` (makes|takes|restores|lands|shows|brings|lists|merges|drops|keeps|says|gets)\b.*$`)
)

// commandsIn returns the command lines of hints, without what they say of them. What restores comes first.
func commandsIn(text string) (all []string) {
	for _, m := range hintLines.FindAllStringSubmatch(text, -1) {
		for part := range strings.SplitSeq(m[1], "; ") {
			if _, after, ok := strings.Cut(part, ": git "); ok {
				part = "git " + after
			}
			line := prose.ReplaceAllString(strings.TrimSpace(part), "")
			switch {
			case !strings.HasPrefix(line, "git ") || slices.Contains(all, line):
			case strings.Contains(part, " restores "):
				all = slices.Insert(all, 0, line)
			default:
				all = append(all, line)
			}
		}
	}
	return all
}

// wayOut does a step as people type it. Where it is refused, it carries out literally what the refusal says, and asks
// that the step, or what it was for, has come about.
func (w *codeWorld) wayOut(d deed, p *place, moves []move, a answer) error {
	if w.blind { // there is no clone to type in
		return nil
	}
	m := moves[max(0, slices.IndexFunc(moves, func(m move) bool { return strings.HasPrefix(m.ref, "refs/heads/") }))]
	client, server := maps.Clone(w.world.client.oracle.refs), maps.Clone(w.world.server.oracle.refs)
	goal := func(tip string) bool { return tip == m.next }
	if strings.HasPrefix(m.ref, "refs/heads/") && m.next != "" {
		goal = w.reached(m, !strings.Contains(d.name, " that git makes wrong"))
	}
	const outgoing = "refs/heads/outgoing"
	shell, on, tip := w.shell, m.ref, cmp.Or(m.old, w.world.client.oracle.refs["refs/heads/main"])
	switch {
	case p == w.world.server: // from a branch that has it
		push := "git push -q ../server.git"
		for _, each := range moves {
			push += " " + cmp.Or(map[string]string{m.ref: "HEAD"}[each.ref], each.next) + ":" + each.ref
		}
		shell, on, tip = []string{push}, outgoing, m.next
		if !strings.HasPrefix(m.ref, "refs/heads/") {
			shell, tip = []string{strings.Replace(push, " HEAD:", " "+m.next+":", 1)}, client["refs/heads/main"]
		}
	case len(shell) == 0:
		shell = []string{fmt.Sprintf("git update-ref %s %s", m.ref, m.next)}
	}
	if err := w.checkout(on, tip); err != nil {
		return err
	}
	var told strings.Builder
	run := func(line string) (string, bool) {
		out, ok := w.sh(line)
		fmt.Fprintf(&told, "$ %s\n%s", line, out)
		return out, ok
	}
	done := func() bool {
		w.sync()
		return goal(p.oracle.refs[m.ref])
	}
	step := func() string {
		for _, line := range shell {
			if said, ok := run(line); !ok {
				return said
			}
		}
		return ""
	}
	if w.stage.quorum > 1 {
		run("git wf trust --code; git wf trust --plan WFS-code --yes; git wf trust --plan WFS-more --yes")
	}
	said := step()
	ok := done()
	if ok && said == "" {
		w.tally.Taken++
		return w.leave()
	}
	if a.how == "typed" {
		w.tally.Refused[d.name+", typed"]++
	}
	for _, line := range commandsIn(said) {
		if !ok {
			run(line)
			ok = done()
		}
	}
	if !ok { // then the step itself works
		if err := w.clear(); err != nil {
			return err
		}
		step()
		ok = done()
	}
	if err := w.leave(); err != nil {
		return err
	}
	if ok {
		w.tally.Ways[d.name]++
		return nil
	}
	w.tally.NoWay[d.name]++
	if err := w.differ("no way out", d.name, a, a.said+"\n"+told.String(), p, moves); err != nil {
		return err
	}
	if err := w.reset(w.world.client, client); err != nil {
		return err
	}
	return w.reset(w.world.server, server)
}

// reached returns what asks whether a tip has what a step was to bring: of each task that it changed what it makes of
// it, or something newer, unless the step is not right as it is; and the merged commits.
func (w *codeWorld) reached(m move, right bool) func(tip string) bool {
	also, want := w.goal, map[string]*codeChange{}
	was, is := w.has(cmp.Or(m.old, w.world.client.oracle.refs["refs/heads/main"])), w.has(m.next)
	for task, v := range is.have {
		if was.have[task] != v && right {
			want[task] = v
		}
	}
	return func(tip string) bool {
		if tip == "" || also != nil && !also() {
			return false
		}
		have := w.has(tip)
		for task, v := range want {
			if got := have.have[task]; got == nil || v == none && got != none || got.n < v.n {
				return false
			}
		}
		return have.why == "" && w.oracle.back(w.facts(w.world.client), tip) == ""
	}
}

// sh runs a command line in the clone.
func (w *codeWorld) sh(line string) (string, bool) {
	if w.world.client.cwd == "" {
		panic("no clone to run " + line) // and not whatever repository this process is in
	}
	cmd := exec.CommandContext(w.ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = w.world.client.cwd, append(slices.Clone(w.lab.Env), "GIT_EDITOR=true")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// checkout makes a branch the current one of the clone, whatever is there.
func (w *codeWorld) checkout(ref, tip string) error {
	if w.blind {
		panic("no clone to check out " + ref)
	}
	if w.world.client.oracle.refs[ref] == "" {
		w.world.client.oracle.refs[ref] = tip
		if err := setRefs(w.world.client.gitDir, map[string]string{ref: tip}); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(w.world.client.gitDir, "HEAD"), []byte("ref: "+ref+"\n"), 0o666); err != nil {
		return err
	}
	return w.clear()
}

// leave goes back to main.
func (w *codeWorld) leave() error {
	refs := w.world.client.oracle.refs
	if err := w.checkout("refs/heads/main", refs["refs/heads/main"]); err != nil {
		return err
	}
	delete(refs, "refs/heads/outgoing")
	return setRefs(w.world.client.gitDir, map[string]string{"refs/heads/outgoing": ""})
}

// clear forgets what a refused command left behind.
func (w *codeWorld) clear() error {
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer", "rebase-merge"} {
		if err := os.RemoveAll(filepath.Join(w.world.client.gitDir, name)); err != nil {
			return err
		}
	}
	if out, ok := w.sh("git -c core.hooksPath=/dev/null reset -q --hard && git clean -q -ffdx"); !ok {
		return fmt.Errorf("clear the clone: %s", out)
	}
	return nil
}

// sync reads what commands did to the refs of both repositories.
func (w *codeWorld) sync() {
	for _, p := range []*place{w.world.client, w.world.server} {
		cmd := exec.CommandContext(w.ctx, "git", "for-each-ref", "--format=%(refname) %(objectname)")
		cmd.Dir, cmd.Env = p.cwd, w.lab.Env
		out, err := cmd.Output()
		if err != nil && w.ctx.Err() == nil {
			panic(err) // a test's machine does not fail
		}
		refs := map[string]string{}
		for line := range strings.Lines(string(out)) {
			ref, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			refs[ref] = id
			w.git.loadHistory(id)
		}
		p.oracle.refs = refs
	}
}

// askPeople asks git wf itself, once in a world: a forged message makes nobody believe that something landed, and a
// clone without the policy does not say that all is well.
func (w *codeWorld) askPeople() error {
	refs := maps.Clone(w.start)
	for ref, chain := range w.stage.plans {
		if strings.HasPrefix(ref, "refs/workflow/WFS-") {
			refs[ref] = chain[len(chain)-1]
		}
	}
	for _, p := range []*place{w.world.server, w.world.client} {
		if err := w.reset(p, refs); err != nil {
			return err
		}
	}
	w.made = []string{w.stage.first}
	if err := w.askForged(); err != nil {
		return err
	}
	return w.askWithoutPolicy()
}

func (w *codeWorld) askForged() error {
	p, m := w.world.client, move{ref: "refs/heads/main", old: w.stage.first}
	all, _ := w.apt(w.treeOf(m.old), 1)
	if len(all) == 0 {
		return nil
	}
	c := all[0]
	if err := w.checkout(m.ref, m.old); err != nil {
		return err
	}
	ask := fmt.Sprintf("git wf status --plan %s", c.plan)
	before, _ := w.sh(ask)
	m.next = w.git.commit(w.docs(w.treeOf(m.old)), []string{m.old}, landMessage(c))
	if err := w.accept(p, []move{m}); err != nil {
		return err
	}
	if err := w.checkout(m.ref, m.next); err != nil {
		return err
	}
	after, _ := w.sh(ask)
	w.tally.Attacks["a forged message, for status and land"]++
	land := fmt.Sprintf("git wf land --plan %s %s", c.plan, c.task)
	out, _ := w.sh(land)
	w.sync()
	a := answer{how: "git wf"}
	if before != after {
		if err := w.differ("landed", "a forged message, for status", a, "main: x: status says otherwise: "+after, p,
			[]move{m}); err != nil {
			return err
		}
	}
	if got := w.has(p.oracle.refs[m.ref]).have[c.key()]; got == nil || got.n != c.n {
		return w.differ("refused", "landing after a forged message", a, land+": "+out, p, []move{m})
	}
	return nil
}

func (w *codeWorld) askWithoutPolicy() error {
	clone := filepath.Join(w.world.dir, "fresh")
	run := func(line string) (string, int) {
		cmd := exec.CommandContext(w.ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env = clone, w.lab.Env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	m := move{ref: "refs/heads/main", old: w.stage.first}
	m.next = w.git.commit(w.line(w.treeOf(m.old)), []string{m.old}, "evil\n")
	if err := w.accept(w.world.server, []move{m}); err != nil { // as a server without the gate has it
		return err
	}
	if err := os.Mkdir(clone, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(clone)
	if out, exit := run("git clone -q ../server.git ."); exit != 0 {
		return fmt.Errorf("clone: %s", out)
	}
	w.tally.Attacks["verify without the policy"]++
	const verify = "git wf verify HEAD~1..HEAD"
	a := answer{how: "git wf"}
	said, exit := run(verify)
	if exit != 2 {
		return w.differ("landed", "verify without the policy", a, fmt.Sprintf("main: x: exit %d: %s", exit, said),
			w.world.server, []move{m})
	}
	for _, line := range commandsIn(said) {
		run(line)
	}
	if again, exit := run(verify); exit != 1 {
		return w.differ("refused", "verify with the policy", a, fmt.Sprintf("exit %d: %s, %s", exit, said, again),
			w.world.server, []move{m})
	}
	return nil
}
