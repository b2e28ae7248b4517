package attacktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
)

// People are three who share a server, each with a clone in strict mode. They do only what a team does, so the gate
// must not refuse them anything.
type People struct {
	lab   *chaostest.Lab
	Keep  string // copy refused teams below this directory; "" for none
	Each  int    // operations per team
	Log   func(Refusals)
	trace bool
}

// NewPeople returns people who work in a lab.
func NewPeople(lab *chaostest.Lab) *People { return &People{lab: lab, Each: 300} }

// Refusals counts what people did and lists correct operations that were refused.
type Refusals struct {
	Operations int
	Done       map[string]int // operations by kind
	Found      []Difference
}

func (r Refusals) String() string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(r.Done)) {
		all = append(all, fmt.Sprintf("%s %d", kind, r.Done[kind]))
	}
	return fmt.Sprintf("%d operations (%s), %d kinds of refusals", r.Operations, strings.Join(all, ", "), len(r.Found))
}

// Work lets teams do n operations, which the seed selects.
func (p *People) Work(ctx context.Context, seed uint64, n int) (Refusals, error) {
	r := Refusals{Done: map[string]int{}}
	for round := uint64(0); r.Operations < n && ctx.Err() == nil; round++ {
		t := &team{People: p, rng: rand.New(rand.NewPCG(seed, round)), all: &r, plans: map[string]*planned{}}
		if err := t.work(ctx, min(p.Each, n-r.Operations)); err != nil {
			return r, err
		}
		if p.Log != nil {
			p.Log(r)
		}
	}
	return r, ctx.Err()
}

// A team is three people with one server.
type team struct {
	*People
	ctx     context.Context
	rng     *rand.Rand
	all     *Refusals
	dir     string
	members []*member
	plans   map[string]*planned
	policy  *member // who changed the policy and has not pushed it yet; nil for nobody
	n       int
	history []string
}

// planned is a plan, and who recorded something in it that nobody else has yet: this test makes no diverging histories
// of one plan.
type planned struct {
	by      *member
	tasks   map[string]string // the newest version: "", candidate, approved, rejected
	retired bool
}

type member struct {
	*team
	name, dir string
	topic     string // the branch other than main, if any
	on        string
}

func (t *team) work(ctx context.Context, n int) (err error) {
	if t.dir, err = os.MkdirTemp(t.lab.Dir, "team-"); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	t.ctx = ctx
	office := &member{team: t, name: "office", dir: t.dir}
	office.must("git", "init", "-q", "--bare", "server.git")
	office.must("git", "wf", "init", "--server", "server.git")
	for _, name := range []string{"ann", "bob", "cyd"} {
		m := &member{team: t, name: name, dir: filepath.Join(t.dir, name), on: "main"}
		office.must("git", "clone", "-q", "server.git", name)
		m.must("git", "config", "user.name", name)
		m.must("git", "config", "pull.rebase", "false")
		if len(t.members) == 0 {
			m.write("README", "hello\n")
			m.must("git", "add", ".")
			m.must("git", "commit", "-q", "-m", "first")
			m.must("git", "push", "-q", "origin", "main")
		}
		m.must("git", "wf", "init")
		t.members = append(t.members, m)
	}
	for range n {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m := t.members[t.rng.IntN(3)]
		w := t.rng.IntN(totalOfDeeds)
		for _, d := range deeds {
			if w -= d.weight; w < 0 {
				t.all.Operations++
				if d.do(m) {
					t.all.Done[d.name]++
				}
				break
			}
		}
	}
	return ctx.Err()
}

var deeds = []struct {
	name   string
	weight int
	do     func(*member) bool // false if there was nothing to do
}{
	{"commit", 14, (*member).commit},
	{"plan", 2, (*member).plan},
	{"record", 22, (*member).record},
	{"export", 14, (*member).export},
	{"fetch", 4, (*member).fetch},
	{"merge", 5, (*member).merge},
	{"rebase", 5, (*member).rebase},
	{"pull", 4, (*member).pull},
	{"push", 12, (*member).push},
	{"branch", 4, (*member).branch},
	{"land a topic", 4, (*member).landTopic},
	{"cherry-pick", 4, (*member).cherryPick},
	{"revert", 4, (*member).revert},
	{"amend", 2, (*member).amend},
	{"retire", 1, (*member).retire},
	{"waive", 1, (*member).waive},
	{"baseline", 1, (*member).baseline},
	{"tag", 1, (*member).tag},
	{"clone", 1, (*member).freshClone},
	{"mirror", 1, (*member).mirror},
	{"verify", 3, (*member).verify},
}

var totalOfDeeds = func() (sum int) {
	for _, d := range deeds {
		sum += d.weight
	}
	return sum
}()

// run runs a command in the member's clone.
func (m *member) run(args ...string) (string, error) {
	cmd := exec.CommandContext(m.ctx, args[0], args[1:]...)
	cmd.Dir = m.dir
	cmd.Env = append(slices.Clone(m.lab.Env), "GIT_EDITOR=true", "GIT_MERGE_AUTOEDIT=no")
	out, err := cmd.CombinedOutput()
	line := fmt.Sprintf("(cd %s; %s)", filepath.Base(m.dir), strings.Join(args, " "))
	if err != nil {
		line += " # " + err.Error()
	}
	m.history = append(m.history, line)
	if m.trace {
		println(line)
	}
	return string(out), err
}

func (m *member) must(args ...string) string {
	out, err := m.run(args...)
	if err != nil {
		m.refused(strings.Join(args, " "), out)
	}
	return strings.TrimSpace(out)
}

// ask runs a command that may say no.
func (m *member) ask(args ...string) (string, bool) {
	out, err := m.run(args...)
	m.history = m.history[:len(m.history)-1]
	return strings.TrimSpace(out), err == nil
}

func (m *member) write(name, text string) {
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o666); err != nil {
		panic(err) // a test's disk does not fail
	}
}

var gitsOwn = regexp.MustCompile(`CONFLICT|nothing to commit|is now empty|non-fast-forward|fetch first|would clobber|conflicts? prevented|no changes added|previous cherry-pick is now empty|nothing added to commit`)

// try runs a command that git may refuse for its own reasons, and reports whether it succeeded.
func (m *member) try(args ...string) (string, bool) {
	out, err := m.run(args...)
	if err == nil {
		return out, true
	}
	if !gitsOwn.MatchString(out) {
		m.refused(strings.Join(args, " "), out)
	}
	return out, false
}

// refused records the refusal of a correct operation.
func (m *member) refused(what, said string) {
	if m.ctx.Err() != nil {
		return
	}
	d := Difference{Kind: "refused", Why: said, Ops: what, At: m.name + "'s clone", Seen: 1}
	like := func(d Difference) string {
		return commits.ReplaceAllString(details.ReplaceAllString(ids.ReplaceAllString(strings.Fields(d.Ops)[1]+strings.Join(strings.Fields(d.Why), " "), "_"), "_"), "_")
	}
	for i, have := range m.all.Found {
		if like(have) == like(d) {
			m.all.Found[i].Seen++
			return
		}
	}
	if m.Keep != "" {
		d.Dir = filepath.Join(m.Keep, fmt.Sprintf("refused-%d", len(m.all.Found)))
		err := errors.Join(os.RemoveAll(d.Dir), os.CopyFS(d.Dir, os.DirFS(m.team.dir)))
		if err == nil {
			err = os.WriteFile(filepath.Join(d.Dir, "history"), []byte(d.String()+"\n"+strings.Join(m.history, "\n")+"\n"),
				0o666)
		}
		if err != nil {
			d.Dir = err.Error()
		}
	}
	m.all.Found = append(m.all.Found, d)
}

var commits = regexp.MustCompile(`deliverables/\S+|ann|bob|cyd|topic-\S+|[0-9]+`)

// abort aborts the git operation in progress.
func (m *member) abort() {
	for _, what := range []string{"merge", "rebase", "cherry-pick", "revert"} {
		m.ask("git", what, "--abort")
	}
	m.ask("git", "reset", "-q", "--hard")
	m.ask("git", "clean", "-q", "-f", "-d")
	if _, ok := m.ask("git", "switch", "-q", m.on); !ok {
		m.ask("git", "switch", "-q", "-f", "main")
		m.on = "main"
	}
}

func (m *member) commit() bool {
	m.n++
	m.write(fmt.Sprintf("%s-%d.txt", m.name, m.rng.IntN(5)), fmt.Sprintln(m.n))
	m.must("git", "add", ".")
	m.must("git", "commit", "-q", "-m", fmt.Sprintf("%s %d", m.name, m.n))
	return true
}

func (m *member) plan() bool {
	if len(m.plans) >= 4 {
		return false
	}
	m.n++
	title := fmt.Sprintf("Part %d", m.n)
	m.write("plan.yaml", fmt.Sprintf(planText, title)+"config: {max_attempts: 1000}\n")
	m.must("git", "wf", "plan", "-f", "plan.yaml")
	m.must("rm", "plan.yaml")
	m.plans[fmt.Sprintf("WFS-part-%d", m.n)] = &planned{by: m, tasks: map[string]string{"PAGE-1": "", "PAGE-2": ""}}
	return true
}

// anyPlan returns a plan that the member may record in, at its newest state anywhere.
func (m *member) anyPlan() (string, *planned) {
	m.fetch()
	ids := slices.Sorted(maps.Keys(m.plans))
	m.rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		if p := m.plans[id]; (p.by == nil || p.by == m) && !p.retired {
			if _, ok := m.ask("git", "rev-parse", "-q", "--verify", "refs/workflow/"+id); ok {
				return id, p
			}
		}
	}
	return "", nil
}

func (m *member) record() bool {
	id, p := m.anyPlan()
	if p == nil {
		return false
	}
	p.by = m
	for range 1 + m.rng.IntN(3) {
		task := []string{"PAGE-1", "PAGE-2"}[m.rng.IntN(2)]
		switch p.tasks[task] {
		case "", "rejected":
			name := map[string]string{"PAGE-1": "page.txt", "PAGE-2": "style.css"}[task]
			m.n++
			m.write(name, fmt.Sprintln(m.name, m.n))
			m.must("git", "wf", "submit", "--plan", id, task, name)
			m.must("rm", name)
			p.tasks[task] = "candidate"
		case "candidate":
			verdict := "approved"
			if m.rng.IntN(4) == 0 {
				verdict = "rejected"
			}
			m.must("git", "wf", "review", "--plan", id, task, map[string]string{"approved": "--approve",
				"rejected": "--reject"}[verdict], "-m", "so")
			p.tasks[task] = verdict
		case "approved":
			if m.rng.IntN(3) == 0 {
				m.must("git", "wf", "review", "--plan", id, task, "--reject", "-m", "so")
				p.tasks[task] = "rejected"
			}
		}
	}
	return true
}

func (m *member) export() bool {
	m.fetch()
	for _, id := range slices.Sorted(maps.Keys(m.plans)) {
		p := m.plans[id]
		if p.retired || p.by != nil && p.by != m || m.rng.IntN(2) == 0 {
			continue
		}
		if m.exportPlan(id, "--commit") {
			return true
		}
	}
	return false
}

func (m *member) exportPlan(id string, args ...string) bool {
	if _, ok := m.ask("git", "rev-parse", "-q", "--verify", "refs/workflow/"+id); !ok {
		return false
	}
	tasks := m.plans[id].tasks
	switch approved := strings.Count(tasks["PAGE-1"]+tasks["PAGE-2"], "approved"); {
	case approved == 0:
		return false
	case approved == 1 || m.rng.IntN(5) == 0:
		args = append(args, "--partial")
	}
	m.must(append([]string{"git", "wf", "export", "--plan", id}, args...)...)
	return true
}

func (m *member) fetch() bool {
	m.must("git", "fetch", "-q", "--tags", "origin", "+refs/heads/*:refs/remotes/origin/*")
	// A plan that somebody continued here is newer than the server's.
	for line := range strings.Lines(m.must("git", "ls-remote", "origin", "refs/workflow/*")) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		mine := ref == "refs/workflow/policy" && m.policy == m
		if p := m.plans[path.Base(ref)]; p != nil && p.by == m {
			mine = true
		}
		if have, _ := m.ask("git", "rev-parse", "-q", "--verify", ref); !mine && have != id {
			m.must("git", "fetch", "-q", "origin", ref+":"+ref)
		}
	}
	return true
}

func (m *member) merge() bool {
	m.fetch()
	args := []string{"git", "merge", "-q", "origin/main"}
	if m.rng.IntN(3) == 0 {
		args = append(args, "--no-ff")
	}
	_, ok := m.try(args...)
	return m.resolve(ok)
}

func (m *member) pull() bool {
	m.fetch()
	_, ok := m.try("git", "pull", "-q", "origin", "main")
	return m.resolve(ok)
}

// resolve ends a merge with conflicts in bundles by exporting them again, as the documentation advises.
func (m *member) resolve(ok bool) bool {
	defer m.abort()
	if ok {
		return true
	}
	paths, _ := m.ask("git", "diff", "--name-only", "--diff-filter=U")
	for _, p := range strings.Fields(paths) {
		id, _, in := strings.Cut(strings.TrimPrefix(p, "deliverables/"), "/bundle/")
		switch {
		case in && m.plans[id] != nil:
			if p := m.plans[id]; p.by != nil && p.by != m || !m.exportPlan(id) {
				return false
			}
		default:
			if _, ok := m.ask("git", "checkout", "--ours", "--", p); !ok {
				m.must("git", "rm", "-q", "--cached", "--", p)
			} else {
				m.must("git", "add", p)
			}
		}
	}
	if _, merging := m.ask("git", "rev-parse", "-q", "--verify", "MERGE_HEAD"); !merging || paths == "" {
		return false
	}
	if left, _ := m.ask("git", "diff", "--name-only", "--diff-filter=U"); left != "" {
		return false
	}
	// A path that merged without a conflict may need an export, too: a bundle is one unit.
	if bad := m.unproven(":", "HEAD", "MERGE_HEAD", "origin/main"); bad != "" {
		return false
	}
	m.try("git", "commit", "-q", "--no-edit")
	return true
}

func (m *member) rebase() bool {
	m.fetch()
	if m.unproven("HEAD", "origin/main") != "" {
		return false // a version rejected meanwhile would be in the new tip
	}
	_, ok := m.try("git", "rebase", "-q", "origin/main")
	m.abort()
	return ok
}

// unproven returns what a revision, or ":" for the index, has below deliverables/ that is neither approved now nor
// equal to one of the given revisions, according to the slow checker.
func (m *member) unproven(rev string, given ...string) string {
	tree := ""
	if rev == ":" {
		tree, _ = m.ask("git", "write-tree")
	}
	known, err := readObjects(m.ctx, m.dir, m.lab.Env)
	if err != nil {
		return err.Error()
	}
	o := &oracle{objects: &objects{known: known}, refs: map[string]string{}, states: map[string]map[string]unit{}}
	out, _ := m.ask("git", "for-each-ref", "--format=%(objectname) %(refname)")
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 {
			o.refs[f[1]] = f[0]
		}
	}
	if tree != "" {
		rev = o.objects.commit(tree, nil, "")
	} else {
		rev, _ = m.ask("git", "rev-parse", rev)
	}
	for name, u := range o.state(rev) {
		if why := o.approved(name, u, o.had("", name)); why != "" && !slices.ContainsFunc(given, func(g string) bool {
			c, ok := m.ask("git", "rev-parse", "-q", "--verify", g+"^{commit}")
			return ok && o.state(c)[name] == u
		}) {
			return why
		}
	}
	return ""
}

func (m *member) push() bool {
	m.fetch()
	if m.on != "main" {
		m.must("git", "switch", "-q", "main")
		m.on = "main"
	}
	how := [][]string{{"git", "merge", "-q", "origin/main"}, {"git", "rebase", "-q", "origin/main"}}[m.rng.IntN(2)]
	if m.unproven("main", "origin/main") != "" {
		how = []string{"git", "merge", "-q", "origin/main"}
	}
	if _, ok := m.try(how...); how[1] == "merge" && !m.resolve(ok) || !ok && how[1] == "rebase" {
		m.abort()
		if m.rng.IntN(3) > 0 {
			return false
		}
		m.must("git", "reset", "-q", "--hard", "origin/main") // and start over
	}
	m.abort()
	if m.unproven("main", "origin/main") != "" {
		// Rejected meanwhile: export what is approved now.
		for _, id := range slices.Sorted(maps.Keys(m.plans)) {
			if p := m.plans[id]; !p.retired && (p.by == nil || p.by == m) {
				if _, ok := m.ask("git", "rev-parse", "-q", "--verify", "main:deliverables/"+id); ok {
					m.exportPlan(id, "--commit")
				}
			}
		}
		if m.unproven("main", "origin/main") != "" {
			return false
		}
	}
	args := []string{"git", "push", "-q", "--atomic", "origin", "main"}
	for _, id := range slices.Sorted(maps.Keys(m.plans)) {
		if m.plans[id].by == m {
			args = append(args, "refs/workflow/"+id)
		}
	}
	if m.policy == m {
		m.must("git", "push", "-q", "origin", "refs/workflow/policy")
		m.policy = nil
	}
	before := m.must("git", "rev-parse", "origin/main")
	if _, ok := m.try(args...); !ok {
		m.must("git", "reset", "-q", "--hard", "origin/main")
		return false
	}
	for _, p := range m.plans {
		if p.by == m {
			p.by = nil
		}
	}
	m.must("git", "wf", "verify", before+"..main")
	return true
}

func (m *member) branch() bool {
	if m.topic == "" {
		m.n++
		m.topic = fmt.Sprintf("topic-%s-%d", m.name, m.n)
		m.must("git", "switch", "-q", "-c", m.topic)
		m.on = m.topic
		return true
	}
	if m.on == "main" {
		m.on = m.topic
	} else {
		m.on = "main"
	}
	m.must("git", "switch", "-q", m.on)
	return true
}

func (m *member) landTopic() bool {
	if m.topic == "" {
		return false
	}
	m.fetch()
	if m.unproven(m.topic, "main", "origin/main") != "" {
		return false
	}
	if m.unproven(m.topic, "main") != "" { // an overturned version: only commits that are shared may bring it
		own, _ := m.ask("git", "log", "--format=%H", "main.."+m.topic, "--not", "--remotes", "--", "deliverables")
		if own != "" {
			return false
		}
	}
	m.must("git", "switch", "-q", "main")
	m.on = "main"
	args := []string{"git", "merge", "-q", m.topic}
	switch m.rng.IntN(4) {
	case 0:
		args = append(args, "--no-ff")
	case 1:
		args = append(args, "--squash")
	}
	_, ok := m.try(args...)
	if ok && slices.Contains(args, "--squash") {
		if m.unproven(":", "HEAD", "origin/main") == "" {
			m.try("git", "commit", "-q", "-m", "squashed")
		}
	}
	if m.resolve(ok) {
		m.must("git", "branch", "-q", "-D", m.topic)
		m.topic = ""
	}
	m.abort()
	return true
}

// oneOf returns one of the commits that a command lists.
func (m *member) oneOf(args ...string) string {
	out, _ := m.ask(args...)
	all := strings.Fields(out)
	if len(all) == 0 {
		return ""
	}
	return all[m.rng.IntN(len(all))]
}

func (m *member) cherryPick() bool {
	m.fetch()
	c := m.oneOf("git", "rev-list", "--no-merges", "-n", "10", "origin/main", "main", "--not", "HEAD")
	if c == "" {
		return false
	}
	_, ok := m.ask("git", "cherry-pick", "--no-commit", c)
	legal := ok && m.unproven(":", "HEAD") == "" && m.allThere()
	m.abort()
	if !legal {
		return false
	}
	_, ok = m.try("git", "cherry-pick", c)
	m.abort()
	return ok
}

func (m *member) revert() bool {
	m.fetch()
	c := m.oneOf("git", "rev-list", "--no-merges", "-n", "6", "HEAD")
	if _, ok := m.ask("git", "rev-parse", "-q", "--verify", c+"^"); !ok {
		return false
	}
	if out, ok := m.ask("git", "revert", "--no-commit", c); !ok && !gitsOwn.MatchString(out) {
		m.refused("git revert --no-commit "+c, out)
	} else if ok && m.unproven(":", "HEAD") == "" && m.allThere() {
		m.try("git", "commit", "-q", "-m", "revert "+c)
		m.abort()
		return true
	}
	m.abort()
	return false
}

// allThere reports whether the index has each bundle of HEAD: a bundle can't go unless its plan is retired.
func (m *member) allThere() bool {
	head, _ := m.ask("git", "ls-tree", "-d", "--name-only", "HEAD", "deliverables/")
	tree, _ := m.ask("git", "write-tree")
	staged, _ := m.ask("git", "ls-tree", "-d", "--name-only", tree, "deliverables/")
	for _, dir := range strings.Fields(head) {
		if p := m.plans[path.Base(dir)]; !slices.Contains(strings.Fields(staged), dir) && (p == nil || !p.retired) {
			return false
		}
	}
	return true
}

func (m *member) amend() bool {
	ahead, _ := m.ask("git", "rev-list", "--count", "origin/main..HEAD")
	if _, merge := m.ask("git", "rev-parse", "-q", "--verify", "HEAD^2"); ahead == "0" || merge {
		return false
	}
	m.fetch()
	if m.unproven("HEAD", "HEAD~1", "origin/main") != "" {
		return false
	}
	m.must("git", "commit", "-q", "--amend", "-m", fmt.Sprintf("%s again", m.name))
	return true
}

func (m *member) mayRule() bool {
	m.fetch()
	return m.policy == nil || m.policy == m
}

func (m *member) retire() bool {
	if !m.mayRule() {
		return false
	}
	id, p := m.anyPlan()
	if p == nil || len(m.plans) < 3 {
		return false
	}
	m.policy, p.retired = m, true
	m.must("git", "wf", "policy", "retire", id)
	if _, ok := m.ask("git", "rev-parse", "-q", "--verify", "HEAD:deliverables/"+id); ok {
		m.must("git", "rm", "-q", "-r", "deliverables/"+id)
		m.must("git", "commit", "-q", "-m", "retire "+id)
	}
	return true
}

func (m *member) waive() bool {
	if !m.mayRule() {
		return false
	}
	m.n++
	m.policy = m
	name := fmt.Sprintf("deliverables/note-%d.txt", m.n)
	if err := os.MkdirAll(filepath.Join(m.dir, "deliverables"), 0o777); err != nil {
		panic(err)
	}
	m.write(name, "waived\n")
	m.must("git", "add", name)
	m.must("git", "wf", "waive", name, "-m", "because")
	m.must("git", "commit", "-q", "-m", "waived")
	return true
}

func (m *member) baseline() bool {
	if !m.mayRule() {
		return false
	}
	m.policy = m
	m.must("git", "wf", "policy", "baseline", "origin/main", "-m", "so")
	return true
}

func (m *member) tag() bool {
	m.fetch()
	m.n++
	name := fmt.Sprintf("v%d", m.n)
	m.must("git", "tag", "-a", "-m", "t", name, "origin/main")
	m.must("git", "push", "-q", "origin", name)
	return true
}

// freshClone clones as a new member does.
func (m *member) freshClone() bool {
	dave := &member{team: m.team, name: "dave", dir: filepath.Join(m.team.dir, "dave"), on: "main"}
	(&member{team: m.team, name: "office", dir: m.team.dir}).must("git", "clone", "-q", "server.git", "dave")
	dave.fetch()
	dave.must("git", "wf", "init")
	dave.must("git", "wf", "doctor")
	dave.must("git", "switch", "-q", "-c", "new", "origin/main")
	if dave.unproven("new") == "" {
		dave.must("git", "wf", "verify", zeros+"..new")
	}
	os.RemoveAll(dave.dir)
	return true
}

// mirror pushes everything at once to a second server.
func (m *member) mirror() bool {
	dave := &member{team: m.team, name: "office", dir: m.team.dir}
	dave.must("git", "clone", "-q", "--bare", "server.git", "mine.git")
	mine := &member{team: m.team, name: "mine", dir: filepath.Join(m.team.dir, "mine.git")}
	mine.must("git", "fetch", "-q", "origin", "refs/workflow/*:refs/workflow/*")
	dave.must("git", "init", "-q", "--bare", "mirror.git")
	dave.must("git", "wf", "init", "--server", "mirror.git")
	if _, ok := mine.ask("git", "rev-parse", "-q", "--verify", "refs/workflow/policy"); ok {
		mine.must("git", "push", "-q", "../mirror.git", "refs/workflow/policy")
	}
	if mine.unproven("main") == "" {
		mine.must("git", "push", "-q", "../mirror.git", "refs/heads/*", "refs/workflow/*")
		mine.must("git", "push", "-q", "../mirror.git", "refs/tags/*")
	}
	os.RemoveAll(filepath.Join(m.team.dir, "mirror.git"))
	os.RemoveAll(mine.dir)
	return true
}

// verify does what CI does with a branch.
func (m *member) verify() bool {
	m.fetch()
	if m.unproven("HEAD", "origin/main") != "" {
		return false
	}
	m.must("git", "wf", "verify", "origin/main..HEAD")
	return true
}
