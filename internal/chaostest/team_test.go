package chaostest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// weekText has what a team's week has: changes that build on each other, documents, a question, and decisions.
const weekText = `title: Week
config: {reviewers: [person]}
roles:
  main: {text: You decide., kind: orchestrator}
  dev: {text: You make it.}
tasks:
  - {task_id: SPEC-1, title: Spec, agent: manual, estimated_person_days: 1, deliverable_spec: {filename: spec.txt}, acceptance_criteria: [{id: A1, statement: It is read in 5 minutes.}]}
  - {task_id: SPEC-2, title: More, agent: manual, estimated_person_days: 3, depends_on: [SPEC-1], deliverable_spec: {filename: more.txt}, acceptance_criteria: [{id: A1, statement: It is read in 5 minutes.}]}
  - {task_id: BOOK-1, title: Book, depends_on: [SPEC-1], run: 'cat $WF_IN/SPEC-1/spec.txt >$WF_OUT/book.txt', review: {by: [checks]}, estimated_person_days: 1, deliverable_spec: {filename: book.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s book.txt}]}
  - {task_id: TEXT-1, title: Text, agent: asker, review: {by: [checks]}, estimated_person_days: 1, deliverable_spec: {filename: text.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s text.txt}]}
  - {task_id: CODE-1, title: One, run: 'echo one >src/one.txt', review: {by: [checks, person]}, estimated_person_days: 1, deliverable_spec: &src {format: change, paths: [src]}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/one.txt}]}
  - {task_id: CODE-2, title: Two, depends_on: [CODE-1], run: 'cat src/one.txt >src/two.txt', review: {by: [checks, person]}, estimated_person_days: 1, deliverable_spec: *src, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/two.txt}]}
  - {task_id: CODE-3, title: Three, depends_on: [CODE-2], run: 'cat src/two.txt >src/three.txt; echo three >>src/all.txt', review: {by: [checks, person]}, estimated_person_days: 1, deliverable_spec: *src, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/three.txt}]}
  - {task_id: HAND-1, title: Hand, agent: manual, review: {by: [checks, person]}, estimated_person_days: 1, deliverable_spec: *src, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/hand.txt}]}
  - {task_id: MAIN-1, title: Decisions, role: main, agent: manual, estimated_person_days: 1, decides: {orders: [dev], max: 6}, deliverable_spec: {format: decision, filename: decision.json, single_file: true}, acceptance_criteria: [{id: RULES, statement: Each decision keeps the rules.}]}
  - {task_id: CHECK-MAIN-1, node_type: CHECK, title: Rules, review_target_task_id: MAIN-1, reviewers: [decision-review]}
  - {task_id: NOTE-1, title: Note, role: dev, run: 'echo note >$WF_OUT/note.txt', review: {by: [checks]}, estimated_person_days: 1, deliverable_spec: {filename: note.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s note.txt}]}
`

const weekSmaller = `title: Smaller
tasks:
  - {task_id: SPEC-2.1, title: Half, agent: manual, estimated_person_days: 1, deliverable_spec: {filename: half.txt}, acceptance_criteria: [{id: A1, statement: It is read in 5 minutes.}]}
  - {task_id: SPEC-2.2, title: Whole, agent: manual, estimated_person_days: 1, depends_on: [SPEC-2.1], deliverable_spec: {filename: more.txt}, acceptance_criteria: [{id: A1, statement: It is read in 5 minutes.}]}
`

// askerText asks once, then writes what it was told.
const askerText = `if grep -q 'for Ada' "$WF_PROMPT"; then
	echo for Ada >"$WF_OUT/text.txt"
	echo '{"schema_version": 1, "result_type": "ARTIFACT", "summary": "written"}'
else
	echo '{"schema_version": 1, "result_type": "NEEDS_INPUT", "summary": "unclear", "needs": [{"name": "who", "kind": "text", "question": "For whom is it?"}]}'
fi
`

// week is a team with one plan, whose members are known by name.
type week struct {
	*team
	plan string
}

// member makes a clone as one does who joins.
func (w *week) member(name string) *clone {
	w.t.Helper()
	dir := filepath.Dir(w.server.Dir)
	c := &clone{Repo: &Repo{Lab: w.lab, Dir: filepath.Join(dir, name)}, name: name, claims: map[string]string{},
		seen: map[string]map[string]int{}}
	w.git(&Repo{Lab: w.lab, Dir: dir}, "clone", "-q", w.server.Dir, c.Dir)
	w.setUp(c)
	return c
}

// ok runs git wf, which has to exit with one of the codes, 0 if there are none.
func (w *week) ok(c *clone, codes string, args ...string) string {
	w.t.Helper()
	o := w.do(c, args...)
	if !strings.Contains(codes, fmt.Sprint(o.Exit)) {
		w.fatal(fmt.Errorf("%s: expected exit code %s of %s", c.name, codes, o))
	}
	return o.Out
}

// together has several run at the same time, as CI machines do.
func (w *week) together(clones []*clone, args ...[]string) {
	w.t.Helper()
	var wait sync.WaitGroup
	said := make([]*Outcome, len(clones))
	for i, c := range clones {
		wait.Go(func() { said[i], _ = c.WF(context.Background(), args[i%len(args)]...) })
	}
	wait.Wait()
	for i, o := range said {
		w.history = append(w.history, clones[i].name+": "+o.String())
		if o.Exit != 0 && o.Exit != 3 || rude.MatchString(o.Err) {
			w.wrong(fmt.Sprintf("%s: %s", clones[i].name, o))
		}
		w.note(clones[i])
	}
}

var inboxReview = regexp.MustCompile(`(?m)awaits a person's review.*git wf review (\S+)`)

// reviewAll approves all that the inbox says.
func (w *week) reviewAll(c *clone) (n int) {
	w.t.Helper()
	w.ok(c, "0", "sync")
	for _, m := range inboxReview.FindAllStringSubmatch(w.ok(c, "03", "inbox"), -1) {
		w.ok(c, "0", "review", m[1], "--approve", "-m", "read")
		n++
	}
	return n
}

// day ends a day: everybody who is there has the same, sound.
func (w *week) day(n int, clones ...*clone) {
	w.t.Helper()
	for range 2 {
		for _, c := range clones {
			w.ok(c, "0", "sync")
		}
	}
	want := w.git(w.server, "rev-parse", "refs/workflow/"+w.plan)
	for _, c := range clones {
		if got := w.git(c.Repo, "rev-parse", "refs/workflow/"+w.plan); got != want {
			w.fatal(fmt.Errorf("day %d: %s has %s, the server %s", n, c.name, got, want))
		}
		w.check(c.Repo, c.name)
	}
	w.check(w.server, "server")
	if lost := w.git(w.server, "log", "--grep=Wf-Event: attempt", "--grep=did not come back", "--all-match",
		"refs/workflow/"+w.plan); lost != "" {
		w.wrong(fmt.Sprintf("day %d: nobody was killed, and a worker is lost:\n%s\n%s", n, lost, w.git(w.server,
			"log", "--graph", "--format=%h %s %ct %cn", "refs/workflow/"+w.plan)))
	}
	w.t.Logf("day %d: %s", n, strings.SplitN(w.ok(clones[0], "0", "status"), "\n", 3)[1])
}

var movedProgram = sync.OnceValues(func() (string, error) { return BuildClock(context.Background(), theLab.lab) })

// TestTeamForAWeek has five people and machines work for a week, one of them four days away with a wrong clock, and one
// more who joins. It takes more than a minute of two processors, and so runs with CHAOS_TEAM=1 alone.
func TestTeamForAWeek(t *testing.T) {
	if os.Getenv("CHAOS_TEAM") == "" {
		t.Skip("CHAOS_TEAM=1 runs it")
	}
	if runtime.GOOS == "windows" {
		t.Skip("scripts for a shell")
	}
	lab := stages(t).Lab
	t.Parallel()
	moved, err := movedProgram()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w := &week{team: newTeam(t, lab, 1, "ann", "bob", "carol", "ci1", "ci2"), plan: "WFS-week"}
	ann, bob, carol, ci1, ci2 := w.clones[0], w.clones[1], w.clones[2], w.clones[3], w.clones[4]
	w.plans = []string{w.plan}
	machines, runs := []*clone{ci1, ci2}, []string{"run", "-q", "--plan", w.plan}
	decides := append(runs, "--orchestrator", "policy")

	// Monday: the maintainer makes the policy and the plan. Both machines work; the reviewer reviews.
	w.ok(ann, "0", "policy", "set", "--maintainer", "ann")
	w.ok(ann, "0", "policy", "protect", "--changes", "src/")
	w.ok(ann, "0", "policy", "prune", "--by", "ann", "--keep", "1")
	w.ok(ann, "0", "plan", "-f", w.write(ann, ".git/week.yaml", weekText))
	w.ok(ann, "0", "share")
	for _, c := range w.clones[1:] {
		w.ok(c, "0", "init")
	}
	for _, c := range w.clones {
		w.git(c.Repo, "config", "wf.agent.asker.kind", "command")
		w.git(c.Repo, "config", "wf.agent.asker.command", "sh "+w.write(c, ".git/asker.sh", askerText))
		w.ok(c, "0", "trust", "--yes")
		w.ok(c, "0", "trust", "--code")
	}
	w.together(machines, decides, runs)
	w.ok(carol, "0", "submit", "SPEC-1", w.write(carol, ".git/in/spec.txt", "spec\n"))
	w.ok(bob, "0", "review", "SPEC-1", "--reject", "-m", "say more")
	w.ok(carol, "0", "submit", "SPEC-1", w.write(carol, ".git/in/spec.txt", "spec and more\n"))
	w.reviewAll(bob)
	w.day(1, w.clones...)

	// Tuesday: the question is answered, the stack goes on, and carol takes her computer home.
	w.ok(ann, "0", "answer", "TEXT-1", "for Ada")
	for range 4 {
		w.together(machines, decides, runs)
		if w.reviewAll(bob) == 0 {
			break
		}
	}
	w.day(2, w.clones...)
	w.git(carol.Repo, "config", "wf.offline", "true")
	away := *carol.Repo
	lab2 := *lab
	lab2.Program = moved
	away.Lab, away.Env = &lab2, []string{clockVariable + "=24h"}
	carol.Repo = &away
	w.ok(carol, "0", "note", "decisions", "Carol decides at home.")
	w.ok(carol, "0", "submit", "SPEC-2", w.write(carol, ".git/in/more.txt", "from home\n"))

	// Wednesday: the changes land, and dora joins. Two commands until she can review.
	here := []*clone{ann, bob, ci1, ci2}
	w.git(ann.Repo, "pull", "-q")
	w.ok(ann, "0", "land", "--push")
	dora := w.member("dora")
	w.ok(ann, "0", "note", "learnings", "Dora is here.")
	tree := regexp.MustCompile(`worktree (.*), branch`).FindStringSubmatch(w.ok(dora, "0", "start", "HAND-1"))[1]
	if err := os.WriteFile(filepath.Join(tree, "src", "hand.txt"), []byte("by hand\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	w.ok(dora, "0", "trust", "--code")
	w.ok(&clone{Repo: &Repo{Lab: lab, Dir: tree}, name: "dora", seen: dora.seen}, "0", "submit", "HAND-1",
		"--worktree")
	here = append(here, dora)
	w.reviewAll(bob)
	w.day(3, here...)

	// Thursday: the plan is made anew where it was too coarse, and the files of old versions go.
	w.ok(ann, "0", "split", "SPEC-2", "-f", w.write(ann, ".git/week-smaller.yaml", weekSmaller))
	w.ok(dora, "0", "submit", "SPEC-2.1", w.write(dora, ".git/in/half.txt", "half\n"))
	w.reviewAll(bob)
	w.day(4, here...)
	w.ok(ann, "0", "prune", "--history")
	w.git(ann.Repo, "push", "-q", "--atomic", "origin", "+refs/workflow/"+w.plan, "refs/workflow-archive/"+w.plan)
	for _, c := range here[1:] {
		w.ok(c, "0", "note", "issues", "Is it pruned, "+c.name+"?")
	}
	w.day(4, here...)

	// Friday: bob and dora land and review at once, a second plan comes, and all is exported.
	w.git(dora.Repo, "pull", "-q")
	w.git(ann.Repo, "pull", "-q")
	w.together([]*clone{dora, ann}, []string{"land", "--push"})
	w.ok(bob, "0", "plan", "-f", w.write(bob, ".git/second.yaml", strings.Replace(weekText, "title: Week",
		"title: Second", 1)))
	w.ok(bob, "0", "share")
	w.ok(bob, "0", "switch", w.plan)
	for _, c := range here {
		w.ok(c, "0", "init")
	}
	w.ok(dora, "0", "submit", "SPEC-2.2", w.write(dora, ".git/in/more.txt", "whole\n"))
	w.reviewAll(bob)
	for _, c := range machines { // the changes begin with what has landed
		w.git(c.Repo, "pull", "-q")
	}
	w.together(machines, decides, runs)
	w.reviewAll(bob)
	w.day(5, here...)

	// Saturday: carol is back, with what she did meanwhile.
	w.git(carol.Repo, "config", "wf.offline", "false")
	o := w.do(carol, "sync") // the history that she knows was pruned
	if o.Exit != 0 && o.Exit != 3 {
		w.fatal(fmt.Errorf("carol: %s", o))
	}
	for _, m := range asideLines.FindAllStringSubmatch(o.Out, -1) {
		if m[1] == "" {
			w.remake(carol, w.plan, m[2], m[3])
		}
	}
	carol.Repo.Env = nil
	w.git(carol.Repo, "pull", "-q")
	w.ok(carol, "0", "init")
	w.reviewAll(bob)
	w.together(machines, decides, runs)
	here = append(here, carol)
	w.day(6, here...)

	// Sunday: it is exported and completed, and everybody can prove it.
	w.git(ann.Repo, "pull", "-q")
	w.ok(ann, "0", "export", "--commit", "--plan", w.plan)
	w.git(ann.Repo, "push", "-q", "origin", "main")
	w.ok(ann, "0", "complete", w.plan, "-m", "delivered")
	w.day(7, here...)
	for _, c := range here {
		w.git(c.Repo, "pull", "-q")
		w.ok(c, "0", "verify", w.git(c.Repo, "rev-list", "--max-parents=0", "HEAD")+"..HEAD")
	}
	paths := w.git(w.server, "ls-tree", "--name-only", "refs/workflow/"+w.plan, "notes/")
	if n := strings.Count(paths, "notes/"); n != 7 { // six were written, and one says what the plan has taught
		w.wrong(fmt.Sprintf("%d notes, expected 7: %s", n, paths))
	}
	w.onceApproved(w.plan)
	t.Logf("%d commands, %d set aside, %d made again, in %s", w.commands, w.aside, w.again, time.Since(began))
}
