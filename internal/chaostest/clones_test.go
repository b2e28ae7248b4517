package chaostest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lettersText is a plan with a task for each way in which work is done: by hand, by a command, of what was handed in,
// with a question, as a change of the repository, and in vain. The number keeps the titles of several apart.
const lettersText = `title: Letters %[1]d
config: {max_attempts: 3}
tasks:
  - {task_id: DOC-1, title: A, estimated_person_days: 1, deliverable_spec: {filename: a.txt}, acceptance_criteria: [{id: A1, statement: The file is read in 5 minutes.}]}
  - {task_id: DOC-2, title: B, estimated_person_days: 1, depends_on: [DOC-1], deliverable_spec: {filename: b.txt}, acceptance_criteria: [{id: A1, statement: The file has 2 lines or more., run: test -s b.txt}]}
  - {task_id: DOC-3, title: C, estimated_person_days: 1, deliverable_spec: {filename: c.txt}, acceptance_criteria: [{id: A1, statement: The file has an end., run: grep -q end c.txt}, {id: A2, statement: The file is read in 5 minutes.}]}
  - {task_id: BIG-1, title: E, estimated_person_days: 4, deliverable_spec: {filename: e.txt}, acceptance_criteria: [{id: A1, statement: The file is read in 5 minutes.}]}
  - {task_id: MAKE-1, title: F, run: 'date +%%s%%N >$WF_OUT/f.txt', estimated_person_days: 1, deliverable_spec: {filename: f.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s f.txt}]}
  - {task_id: MAKE-2, title: G, depends_on: [MAKE-1, DOC-1], run: 'cat $WF_IN/*/*.txt >$WF_OUT/g.txt', estimated_person_days: 1, deliverable_spec: {filename: g.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s g.txt}]}
  - {task_id: TEXT-1, title: H, agent: writer, estimated_person_days: 1, deliverable_spec: {filename: h.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s h.txt}]}
  - {task_id: VAIN-1, title: I, run: 'test -e $WF_REPO/.git/go && echo i >$WF_OUT/i.txt', estimated_person_days: 1, deliverable_spec: {filename: i.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s i.txt}]}
  - {task_id: ASK-1, title: J, requires: [{name: source, kind: file, description: the text, count: 1}], run: 'cat $WF_IN/source/* >$WF_OUT/j.txt || find $WF_IN -type f -exec cat {} + >$WF_OUT/j.txt', estimated_person_days: 1, deliverable_spec: {filename: j.txt}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s j.txt}]}
  - {task_id: CODE-1, title: K%[1]d, run: 'date +%%s%%N >src/k%[1]d.txt', estimated_person_days: 1, deliverable_spec: &src {format: change, paths: [src]}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/k%[1]d.txt}]}
  - {task_id: CODE-2, title: L%[1]d, depends_on: [CODE-1], run: 'cat src/k%[1]d.txt >>src/all.txt; date +%%s%%N >>src/all.txt', estimated_person_days: 1, deliverable_spec: *src, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/all.txt}]}
`

const smallerText = `title: Smaller
tasks:
  - {task_id: BIG-1.1, title: Half, estimated_person_days: 1, deliverable_spec: {filename: half.txt}, acceptance_criteria: [{id: A1, statement: The file is read in 5 minutes.}]}
  - {task_id: BIG-1.2, title: Whole, estimated_person_days: 1, depends_on: [BIG-1.1], deliverable_spec: {filename: e.txt}, acceptance_criteria: [{id: A1, statement: The file is read in 5 minutes.}]}
`

// writerText is an agent that asks first, then writes, and now and then fails.
const writerText = `cat >/dev/null
case $(($$ % 5)) in
0) exit 1 ;;
1) echo '{"schema_version": 1, "result_type": "NEEDS_INPUT", "summary": "unclear", "needs": [{"name": "who", "kind": "text", "question": "For whom is it?"}]}' ;;
*) date +%s%N >"$WF_OUT/h.txt"; echo '{"schema_version": 1, "result_type": "ARTIFACT", "summary": "written"}' ;;
esac
`

// clone is one person's clone of the team's repository.
type clone struct {
	*Repo
	name    string
	offline int                       // rounds until the connection is back
	claims  map[string]string         // by plan and task: the number of a claim
	seen    map[string]map[string]int // by plan: tips that its ref had
}

// team is some clones of one bare repository with the hooks.
type team struct {
	t      *testing.T
	lab    *Lab
	rng    *rand.Rand
	server *Repo
	clones []*clone
	plans  []string // in use, the newest last
	made   int
	// what happened, for the report
	commands, joined, aside, again int
	said                           map[string]int
	history                        []string
}

func newTeam(t *testing.T, lab *Lab, seed uint64, names ...string) *team {
	t.Helper()
	tm := &team{t: t, lab: lab, rng: rand.New(rand.NewPCG(seed, 31)), said: map[string]int{}}
	dir, err := lab.place()
	if err != nil {
		t.Fatal(err)
	}
	tm.server = &Repo{Lab: lab, Dir: filepath.Join(dir.Dir, "server.git")}
	tm.git(dir, "init", "-q", "--bare", tm.server.Dir)
	tm.must(dir, "init", "--server", tm.server.Dir)
	for i, name := range names {
		c := &clone{Repo: &Repo{Lab: lab, Dir: filepath.Join(dir.Dir, name)}, name: name, claims: map[string]string{},
			seen: map[string]map[string]int{}}
		tm.git(dir, "clone", "-q", tm.server.Dir, c.Dir)
		if i == 0 {
			tm.write(c, "src/all.txt", "begin\n")
			tm.git(c.Repo, "add", "src")
			tm.git(c.Repo, "commit", "-q", "-m", "first")
			tm.git(c.Repo, "push", "-q", "-u", "origin", "main")
		}
		tm.setUp(c)
	}
	return tm
}

func (tm *team) setUp(c *clone) {
	tm.write(c, ".git/smaller.yaml", smallerText)
	tm.write(c, ".git/writer.sh", writerText)
	for key, value := range map[string]string{"user.name": c.name, "user.email": c.name + "@example.com",
		"wf.agent.writer.kind": "command", "wf.agent.writer.command": "sh " + c.Dir + "/.git/writer.sh",
		"pull.rebase": "true"} {
		tm.git(c.Repo, "config", key, value)
	}
	tm.must(c.Repo, "init")
	tm.clones = append(tm.clones, c)
}

func (tm *team) write(c *clone, name, text string) string {
	tm.t.Helper()
	path := filepath.Join(c.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		tm.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		tm.t.Fatal(err)
	}
	return path
}

func (tm *team) git(r *Repo, args ...string) string {
	tm.t.Helper()
	out, err := r.Git(context.Background(), args...)
	if err != nil {
		tm.fatal(err)
	}
	return out
}

func (tm *team) must(r *Repo, args ...string) string {
	tm.t.Helper()
	o, err := r.Must(context.Background(), args...)
	if err != nil {
		tm.fatal(err)
	}
	return o.Out
}

func (tm *team) fatal(err error) {
	tm.t.Helper()
	last := tm.history[max(0, len(tm.history)-40):]
	tm.t.Fatalf("%v\nafter\n%s", err, strings.Join(last, "\n"))
}

// wrong notes something that is wrong, each kind once, and goes on.
func (tm *team) wrong(what string) {
	tm.t.Helper()
	kind := "wrong: " + hexes.ReplaceAllString(what, "N")
	if tm.said[kind]++; tm.said[kind] == 1 {
		tm.t.Errorf("%s\nafter\n%s", what, strings.Join(tm.history[max(0, len(tm.history)-5):], "\n"))
	}
}

// rude is what no user should read: a crash, or git's own words.
var rude = regexp.MustCompile(`(?m)panic:|goroutine |\bBUG\b|^fatal:|failed to push|\[rejected\]|non-fast-forward|` +
	`cannot lock ref|git update-ref|^error: error|unexpected|%!|git (push|fetch|merge-base|log|rev-list)[^\n]*: exit status`)

var hexes = regexp.MustCompile(`\b[0-9a-f]{7,40}\b|[0-9]+`)

// do runs git wf in a clone, and checks how it ends: with an exit code that is documented, in words of its own, and if
// it is refused, with a hint.
func (tm *team) do(c *clone, args ...string) *Outcome {
	tm.t.Helper()
	o, err := c.WF(context.Background(), args...)
	tm.commands++
	if err != nil {
		tm.fatal(err)
	}
	tm.history = append(tm.history, fmt.Sprintf("%s: %s", c.name, o))
	if o.Exit < 0 || o.Exit > 3 || rude.MatchString(o.Err) {
		tm.wrong(fmt.Sprintf("%s: a crash, or git's own words, from %s", c.name, o))
	}
	if (o.Exit == 1 || o.Exit == 2) && !strings.Contains(o.Err, "hint: ") && args[0] != "run" && args[0] != "land" {
		tm.wrong(fmt.Sprintf("%s: no hint from %s", c.name, o))
	}
	if o.Exit == 2 {
		tm.said[args[0]+": "+hexes.ReplaceAllString(o.Err, "N")]++
	}
	for line := range strings.Lines(o.Err) {
		tm.said[fmt.Sprintf("%s %d: %s", args[0], o.Exit, hexes.ReplaceAllString(strings.TrimSpace(line), "N"))]++
	}
	tm.note(c)
	for _, m := range asideLine.FindAllStringSubmatch(o.Err, -1) {
		if i := slices.Index(args, "--plan"); i > 0 {
			tm.remake(c, args[i+1], m[1], m[2])
		}
	}
	return o
}

// note remembers the tips of a clone.
func (tm *team) note(c *clone) {
	for line := range strings.Lines(tm.git(c.Repo, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)",
		"refs/workflow/WFS-*")) {
		id, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
		if c.seen[id] == nil {
			c.seen[id] = map[string]int{}
		}
		if _, ok := c.seen[id][tip]; !ok {
			c.seen[id][tip] = len(tm.history)
		}
	}
}

func (tm *team) pick(list ...string) string { return list[tm.rng.IntN(len(list))] }

func (tm *team) task() string {
	return tm.pick("DOC-1", "DOC-1", "DOC-2", "DOC-3", "BIG-1", "BIG-1.1", "BIG-1.2", "MAKE-1", "MAKE-2", "TEXT-1",
		"VAIN-1",
		"ASK-1", "CODE-1", "CODE-2")
}

// newPlan has a clone begin another plan, and share it.
func (tm *team) newPlan(c *clone) {
	tm.made++
	file := tm.write(c, ".git/plan.yaml", fmt.Sprintf(lettersText, tm.made))
	tm.must(c.Repo, "plan", "-f", file)
	tm.must(c.Repo, "trust", "--code")
	tm.must(c.Repo, "trust", "--yes")
	tm.must(c.Repo, "share")
	tm.plans = append(tm.plans, fmt.Sprintf("WFS-letters-%d", tm.made))
}

// act has a clone do something that a person would do.
func (tm *team) act(c *clone) {
	id := tm.plans[len(tm.plans)-1]
	if len(tm.plans) > 1 && tm.rng.IntN(10) == 0 {
		id = tm.plans[len(tm.plans)-2]
	}
	if c.seen[id] == nil {
		return // it has not heard of the plan
	}
	task := tm.task()
	file := func(name string) string {
		return tm.write(c, ".git/in/"+name, fmt.Sprintf("line\nend %d\n", tm.rng.IntN(1000)))
	}
	if tm.rng.IntN(4) == 0 { // what a person does who looks first
		if m := regexp.MustCompile(`(?m)^ *(git wf .*)$`).FindAllStringSubmatch(tm.do(c, "inbox").Out, -1); len(m) > 0 {
			tm.do(c, "status", "--plan", id)
		}
	}
	switch tm.rng.IntN(30) {
	case 0, 1:
		o := tm.do(c, "next", task, "--claim", "--plan", id, "--agent", c.name)
		if m := regexp.MustCompile(`--claim ([0-9]+)`).FindStringSubmatch(o.Out); o.Exit == 0 && m != nil {
			c.claims[id+" "+task] = m[1]
		}
	case 2:
		if keys := slices.Sorted(maps.Keys(c.claims)); len(keys) > 0 {
			key := keys[0]
			id, task, _ := strings.Cut(key, " ")
			if tm.rng.IntN(3) > 0 {
				tm.do(c, "next", task, "--release", c.claims[key], "--plan", id)
			} else {
				tm.do(c, "submit", task, file("x.txt"), "--claim", c.claims[key], "--plan", id)
			}
			delete(c.claims, key)
		}
	case 3, 4, 5, 6:
		task = tm.pick("DOC-1", "DOC-2", "DOC-3", "BIG-1", "BIG-1.1", "BIG-1.2", "MAKE-1", "TEXT-1")
		tm.do(c, "submit", task, file("x.txt"), "--plan", id)
	case 7, 8, 9, 10:
		tm.do(c, "review", task, "--approve", "--plan", id)
	case 11:
		tm.do(c, "review", task, "--reject", "-m", "make it again", "--plan", id)
	case 12:
		tm.do(c, "answer", "ASK-1", "--for", "source", "--file", file("j.txt"), "--plan", id)
	case 13:
		tm.do(c, "answer", "TEXT-1", "for Ada", "--plan", id)
	case 14:
		tm.do(c, "note", tm.pick("learnings", "decisions", "issues"), "note "+strconv.Itoa(tm.commands), "--plan", id)
	case 15:
		if tm.rng.IntN(3) == 0 {
			tm.do(c, "pause", id, "-m", "lunch")
		}
	case 16:
		tm.do(c, "resume", id, "-m", "after lunch")
	case 17:
		tm.do(c, "split", "BIG-1", "-f", filepath.Join(c.Dir, ".git", "smaller.yaml"), "--plan", id)
	case 18:
		tm.do(c, "abandon", task, "-m", "no longer wanted", "--plan", id)
	case 19, 20:
		tm.do(c, "retry", task, "-m", "again", "--plan", id)
	case 21:
		tm.do(c, "rerun", task, "--plan", id)
	case 22:
		tm.do(c, "waive", "DOC-3", "--criterion", tm.pick("A1", "A2"), "-m", "not today", "--plan", id)
	case 23:
		tm.do(c, "add", "Something more "+strconv.Itoa(tm.rng.IntN(6)), "--plan", id)
	case 24:
		tm.do(c, "trust", "--yes", "--plan", id)
		tm.do(c, "run", "--plan", id)
	case 25, 26:
		tm.do(c, "run", "--step", "--plan", id)
	case 27:
		tm.land(c, id)
	case 28:
		tm.do(c, "export", "--commit", "--partial", "--plan", id)
	case 29:
		tm.do(c, "complete", id)
	}
}

// land is how a person lands: on what the branch of the server is, if there is a connection.
func (tm *team) land(c *clone, id string) {
	if c.offline > 0 {
		tm.do(c, "land", "--plan", id)
		return
	}
	if out, err := c.Git(context.Background(), "pull", "-q"); err != nil {
		tm.history = append(tm.history, fmt.Sprintf("%s: git pull: %s %v", c.name, out, err))
		_, _ = c.Git(context.Background(), "rebase", "--abort")
		tm.git(c.Repo, "reset", "-q", "--hard", "origin/main")
	}
	tm.do(c, "land", "--push", "--plan", id)
}

// connect takes the connection of a clone away for some rounds, in one of the ways in which that happens, or gives it
// back.
func (tm *team) connect(c *clone) {
	switch c.offline--; {
	case c.offline == 0:
		tm.git(c.Repo, "config", "remote.origin.url", tm.server.Dir)
		tm.git(c.Repo, "config", "wf.offline", "false")
	case c.offline < 0 && tm.rng.IntN(3) == 0:
		c.offline = 1 + tm.rng.IntN(8)
		if tm.rng.IntN(2) == 0 {
			tm.git(c.Repo, "config", "remote.origin.url", tm.server.Dir+".away")
		} else {
			tm.git(c.Repo, "config", "wf.offline", "true")
		}
	}
}

// What was set aside, as git wf sync prints it, and as any other command does.
var (
	asideLines = regexp.MustCompile(`(?m)^(WFS-\S+): |^  (\S+) set aside: .*\n    (.*)$`)
	asideLine  = regexp.MustCompile(`(?m)^(\S+) was set aside: [^:]+: (.*)$`)
)

// sync joins what a clone did, and does what it says about what was set aside.
func (tm *team) sync(c *clone) {
	tm.t.Helper()
	o := tm.do(c, "sync")
	if o.Exit != 0 && o.Exit != 3 {
		tm.fatal(fmt.Errorf("%s: %s", c.name, o))
	}
	tm.joined += strings.Count(o.Out, ": joined")
	plan := ""
	for _, m := range asideLines.FindAllStringSubmatch(o.Out, -1) {
		if m[1] != "" {
			plan = m[1]
			continue
		}
		tm.remake(c, plan, m[2], m[3])
	}
}

// remake carries out the command of what was set aside, if it is whole.
func (tm *team) remake(c *clone, id, task, command string) {
	tm.aside++
	args, ok := strings.CutPrefix(command, "git wf ")
	tm.said["aside: "+hexes.ReplaceAllString(strings.ReplaceAll(command, task, "TASK"), "N")]++
	if !ok || strings.Contains(args, ";") || strings.Contains(args, " or ") {
		return
	}
	args, why, _ := strings.Cut(args, " -m '")
	list := strings.Fields(strings.NewReplacer("WHY", "still-so", "FILE", c.Dir+"/.git/smaller.yaml").Replace(args))
	if why = strings.TrimSuffix(why, "'"); why != "" {
		list = append(list, "-m", why)
	}
	switch list[0] {
	case "review":
		list = append(list, "--approve")
	case "complete", "pause", "resume":
		if tm.rng.IntN(2) == 0 {
			return
		}
		if why == "" {
			list = append(list, "-m", "again")
		}
	case "answer":
		if len(list) == 2 {
			list = append(list, "for Ada")
		}
	}
	o := tm.do(c, append(list, "--plan", id)...)
	tm.said[fmt.Sprintf("remade %s: %d", list[0], o.Exit)]++
	if o.Exit == 0 {
		tm.again++
	} else {
		tm.said["not remade: "+hexes.ReplaceAllString(o.String(), "N")]++
	}
}

// check looks at a repository with doctor, as a server or clone is looked at.
func (tm *team) check(r *Repo, name string) {
	tm.t.Helper()
	o, err := r.WF(context.Background(), "doctor")
	if err != nil {
		tm.fatal(err)
	}
	if o.Exit != 0 {
		tm.fatal(fmt.Errorf("%s: %s", name, o))
	}
}

// settled checks that after a connection of all everybody has the same, and that nothing is lost.
func (tm *team) settled() {
	tm.t.Helper()
	tm.check(tm.server, "server")
	for range 2 { // the first one to sync has to hear of what the last one joined
		for _, c := range tm.clones {
			tm.sync(c)
		}
	}
	for _, id := range tm.plans {
		want := tm.git(tm.server, "rev-parse", "refs/workflow/"+id)
		for _, c := range tm.clones {
			if c.seen[id] == nil {
				continue
			}
			if got := tm.git(c.Repo, "rev-parse", "refs/workflow/"+id); got != want {
				tm.sync(c)
				if got := tm.git(c.Repo, "rev-parse", "refs/workflow/"+id); got != tm.git(tm.server, "rev-parse",
					"refs/workflow/"+id) {
					tm.fatal(fmt.Errorf("%s: %s is %s, at the server %s", c.name, id, got, want))
				}
			}
		}
	}
	for _, c := range tm.clones {
		for id, tips := range c.seen {
			for tip, when := range tips {
				if _, err := c.Git(context.Background(), "merge-base", "--is-ancestor", tip,
					"refs/workflow/"+id); err != nil {
					tm.fatal(fmt.Errorf("%s: %s of %s is lost, seen by command %d", c.name, tip, id, when))
				}
			}
		}
	}
}

// onceApproved checks that no task was approved again that nobody had asked for again.
func (tm *team) onceApproved(id string) {
	tm.t.Helper()
	paths := tm.git(tm.server, "ls-tree", "-r", "-t", "--name-only", "refs/workflow/"+id, "tasks/")
	versions, reopened := map[string]map[string]bool{}, map[string]int{}
	for line := range strings.Lines(paths) {
		p := strings.Split(strings.TrimSpace(line), "/")
		if len(p) < 4 {
			continue
		}
		task := p[2]
		switch {
		case p[3] == "reviews" && len(p) == 6 && p[5] == "APPROVED.md":
			if versions[task] == nil {
				versions[task] = map[string]bool{}
			}
			versions[task][strings.Split(p[4], "-")[1]] = true
		case p[3] == "reviews" && len(p) == 6 && p[5] == "REJECTED.md", len(p) == 5 && (p[3] == "resets" ||
			p[3] == "marks"):
			reopened[task]++
		}
	}
	for task, list := range versions {
		may := 1 + reopened[task]
		for _, input := range map[string][]string{"DOC-2": {"DOC-1"}, "MAKE-2": {"MAKE-1", "DOC-1"},
			"CODE-2":  {"CODE-1"},
			"BIG-1.2": {"BIG-1.1"}, "SPEC-2": {"SPEC-1"}, "SPEC-2.1": {"SPEC-1"}, "BOOK-1": {"SPEC-1"}, "CODE-3": {"CODE-2"}}[task] {
			may += len(versions[input]) + reopened[input]
		}
		if len(list) > may && task != "MAIN-1" { // whose versions are decisions
			tm.wrong(fmt.Sprintf("%s: %s was approved %d times, and %d would have been enough:\n%s", id, task,
				len(list), may, paths))
		}
	}
}

func environ(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// TestTwoClones has two people work on the same tasks, each with random times offline. CHAOS_CLONES_ROUNDS and
// CHAOS_CLONES_SEED make it longer, and again.
func TestTwoClones(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts for a shell")
	}
	seed := environ("CHAOS_CLONES_SEED", uint64(time.Now().UnixNano()))
	rounds := environ("CHAOS_CLONES_ROUNDS", 12)
	t.Logf("CHAOS_CLONES_SEED=%d CHAOS_CLONES_ROUNDS=%d", seed, rounds)
	lab := stages(t).Lab
	t.Parallel()
	tm := newTeam(t, lab, seed, "ann", "bob")
	for round := range rounds {
		if round%25 == 0 {
			for _, c := range tm.clones {
				c.offline = 1
				tm.connect(c)
			}
			if round > 0 {
				tm.settled()
			}
			tm.newPlan(tm.clones[tm.rng.IntN(2)])
			for _, c := range tm.clones {
				tm.must(c.Repo, "init")
				tm.must(c.Repo, "trust", "--yes", "--plan", tm.plans[len(tm.plans)-1])
				tm.must(c.Repo, "trust", "--code", "--plan", tm.plans[len(tm.plans)-1])
				tm.note(c)
			}
		}
		for _, c := range tm.clones {
			tm.history = append(tm.history, fmt.Sprintf("-- round %d, %s, offline %d", round, c.name, c.offline))
			tm.connect(c)
			for range 1 + tm.rng.IntN(3) {
				tm.act(c)
			}
			if c.offline <= 0 {
				tm.sync(c)
			}
			if round%8 == 7 {
				tm.check(c.Repo, c.name)
			}
		}
	}
	for _, c := range tm.clones {
		c.offline = 1
		tm.connect(c)
	}
	tm.settled()
	for _, id := range tm.plans {
		tm.onceApproved(id)
	}
	if err := errors.Join(tm.server.sound(context.Background())); err != nil {
		t.Error(err)
	}
	t.Logf("%d commands, %d joins, %d set aside, %d made again", tm.commands, tm.joined, tm.aside, tm.again)
	if os.Getenv("CHAOS_CLONES_SAID") != "" {
		for _, line := range slices.Sorted(maps.Keys(tm.said)) {
			t.Logf("%4d %s", tm.said[line], line)
		}
	}
}
