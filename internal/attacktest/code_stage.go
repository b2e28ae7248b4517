package attacktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
)

// A codeStage is the start of the histories of one repository: its code, and the plans whose versions change it, made
// with git-wf.
type codeStage struct {
	stage
	protected bool   // the policy protects the code
	policy    int    // the policy that protects it, of its history; the next exempts evil
	evil      string // a commit that nobody approved
	landed    string // the commit of main after some versions landed
	said      []string
}

const taskText = `  - task_id: %s
    title: %s
    description: The program has it.
    depends_on: [%s]
    estimated_person_days: 0.5
    deliverable_spec: {format: change, paths: [src, docs]}
    acceptance_criteria: [{id: A1, statement: It is there.}]
`

// coder makes a stage.
type coder struct {
	*codeStage
	*rand.Rand
	ctx     context.Context
	work    *chaostest.Repo
	objects *objects
	begin   string // the commit that the plans begin with
	failed  error
}

func (c *coder) must(_ any, err error) {
	if c.failed == nil {
		c.failed = err
	}
}

func (c *coder) git(args ...string) string {
	out, err := c.work.Git(c.ctx, args...)
	c.must(nil, err)
	return strings.TrimSpace(out)
}

func (c *coder) wf(args ...string) bool {
	o, err := c.work.WF(c.ctx, args...)
	c.must(nil, err)
	if o.Exit != 0 {
		c.said = append(c.said, o.String())
	}
	return o.Exit == 0
}

// newCodeStage lets people plan, change and review, as the random numbers say.
func newCodeStage(ctx context.Context, lab *chaostest.Lab, rng *rand.Rand) (*codeStage, error) {
	s := &codeStage{stage: stage{lab: lab, plans: map[string][]string{}, objects: map[string]object{}}}
	dir, err := os.MkdirTemp(lab.Dir, "stage-")
	if err != nil {
		return nil, err
	}
	s.dir = filepath.Join(dir, "stage.git")
	for _, team := range []string{"ours", "theirs"} {
		work, err := lab.NewRepo(ctx)
		if err != nil {
			return nil, err
		}
		c := &coder{codeStage: s, Rand: rng, ctx: ctx, work: work}
		c.load()
		c.build(team)
		if c.failed != nil {
			return nil, fmt.Errorf("%w\n%s", c.failed, strings.Join(s.said, "\n"))
		}
		c.load()
		for _, ref := range strings.Fields(c.git("for-each-ref", "--format=%(refname)", "refs/workflow")) {
			name := ref
			if team == "theirs" {
				name = "theirs " + ref
			}
			s.plans[name] = strings.Fields(c.git("rev-list", "--reverse", ref))
		}
		if team == "ours" {
			c.git("init", "-q", "--bare", s.dir)
		}
		store := &objects{dir: filepath.Join(s.dir, "objects"), known: s.objects}
		for _, obj := range c.objects.known {
			store.write(obj.kind, obj.body)
		}
		c.must(nil, work.Remove())
		if c.failed != nil {
			return nil, c.failed
		}
	}
	return s, nil
}

func (c *coder) load() {
	known, err := readObjects(c.ctx, c.work.Dir, c.work.Lab.Env)
	c.must(nil, err)
	c.objects = &objects{dir: filepath.Join(c.work.Dir, ".git", "objects"), known: known}
}

func numbered(of string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d {\n", of, i)
		if i%3 == 2 {
			b.WriteString("}\n")
		}
	}
	return b.String()
}

func (c *coder) build(team string) {
	o := c.objects
	tree := c.git("rev-parse", "HEAD^{tree}")
	for name, text := range map[string]string{
		"src/calc.txt": numbered("calc", 12), "src/util.txt": numbered("util", 9), "src/run.sh": numbered("run", 4),
		"src/old.txt": "old\n", "src/lib/deep.txt": numbered("deep", 6), "src/gen/made.txt": "made\n",
		"docs/guide.txt": numbered("guide", 6), "SRC.txt": "no code\n",
	} {
		tree = o.set(tree, name, fileMode, o.blob(text))
	}
	tree = o.set(tree, "src/run.sh", "100755", second(o.at(tree, "src/run.sh")))
	tree = o.set(tree, "src/link", "120000", o.blob("calc.txt"))
	c.begin = o.commit(tree, []string{c.git("rev-parse", "HEAD")}, "the code")
	c.git("update-ref", "refs/heads/main", c.begin)
	c.git("reset", "-q", "--hard")
	c.wf("init", "--no-strict")
	sizes := map[string]int{"Code": 5, "More": 2}
	if team == "theirs" {
		sizes = map[string]int{"Code": 2}
	}
	for _, title := range []string{"Code", "More"} {
		if sizes[title] > 0 && c.failed == nil {
			c.plan(title, sizes[title])
		}
	}
	if team == "ours" {
		c.first, c.landed = c.begin, c.git("rev-parse", "main")
		c.protected = c.wf("policy", "protect", "src/**", "!src/gen/**", "--changes")
		c.evil = o.commit(o.set(tree, "src/evil.txt", fileMode, o.blob("evil\n")), []string{c.first}, "evil")
		if c.protected {
			c.policy = strings.Count(c.git("rev-list", "refs/workflow/policy"), "\n")
			c.wf("policy", "baseline", c.evil, "-m", "so")
		}
	}
}

func (c *coder) plan(title string, n int) {
	id := "WFS-" + strings.ToLower(title)
	text := "title: " + title + "\ntasks:\n"
	needs := map[int][]int{}
	name := func(i int) string { return fmt.Sprintf("%s-%d", strings.ToUpper(title), i) }
	for i := 1; i <= n; i++ {
		var all []string
		for j := 1; j < i; j++ {
			if c.IntN(100) < 30 {
				needs[i], all = append(needs[i], j), append(all, name(j))
			}
		}
		text += fmt.Sprintf(taskText, name(i), title+" "+fmt.Sprint(i), strings.Join(all, ", "))
	}
	file := filepath.Join(c.work.Dir, "plan.yaml")
	c.must(nil, os.WriteFile(file, []byte(text), 0o666))
	if !c.wf("plan", "-f", "plan.yaml") {
		c.must(nil, fmt.Errorf("no plan"))
	}
	c.must(nil, os.Remove(file))
	approved := map[int]bool{}
	for i := 1; i <= n && c.failed == nil; i++ {
		if slices.ContainsFunc(needs[i], func(j int) bool { return !approved[j] }) {
			continue
		}
		approved[i] = c.task(id, name(i), len(needs[i]) > 0)
	}
}

// submit hands in a version of a task.
func (c *coder) submit(id, task string, builds bool) bool {
	from := c.begin
	if builds {
		dir := filepath.Join(c.work.Dir, "..", "start-"+strings.ToLower(task))
		if !c.wf("start", "--plan", id, task, dir) {
			return false
		}
		from = c.git("-C", dir, "rev-parse", "HEAD")
		branch := c.git("-C", dir, "symbolic-ref", "--short", "HEAD")
		c.git("worktree", "remove", "--force", dir)
		c.git("branch", "-D", branch)
		c.load()
	}
	if c.failed != nil {
		return false
	}
	commit := c.objects.commit(c.edit(from), []string{from}, "work")
	return c.wf("submit", "--plan", id, task, "--commit", commit, "-m", "It has "+task+".")
}

// task hands in versions of a task, and reviews them; it reports whether the newest is approved.
func (c *coder) task(id, task string, builds bool) bool {
	review := func(verdict string) bool { return c.wf("review", "--plan", id, task, verdict, "-m", "so") }
	const good, bad = "--approve", "--reject"
	if !c.submit(id, task, builds) {
		return false
	}
	switch n := c.IntN(100); {
	case n < 60:
		return review(good)
	case n < 75:
		return review(bad) && c.submit(id, task, builds) && review(good)
	case n < 84:
		return review(good) && review(bad) && c.submit(id, task, builds) && review(good)
	case n < 94: // what is done anew after it landed begins with what landed
		return review(good) && c.wf("land", "--plan", id, task) && review(bad) && c.submit(id, task, true) && review(good)
	case n < 97:
		review(bad)
	}
	return false
}

// edit returns the tree of a commit with one or two things changed.
func (c *coder) edit(commit string) string {
	o := c.objects
	_, h, _ := o.parsed(commit)
	tree := h["tree"][0]
	before := tree
	for n := 1 + c.IntN(2); n > 0 || tree == before; n-- {
		tree = c.one(tree)
	}
	return tree
}

func (c *coder) one(tree string) string {
	o := c.objects
	text := []string{"src/calc.txt", "src/calc.txt", "src/util.txt", "src/lib/deep.txt", "src/run.sh", "docs/guide.txt"}
	move := func(from, to string) string {
		mode, id := o.at(tree, from)
		if mode == "" {
			return tree
		}
		return o.set(o.set(tree, from, "", ""), to, mode, id)
	}
	switch n := c.IntN(20); {
	case n < 12:
		name := text[c.IntN(len(text))]
		mode, id := o.at(tree, name)
		if mode == "" {
			return tree
		}
		return o.set(tree, name, mode, o.blob(editLine(c.Rand, string(o.known[id].body))))
	case n < 14:
		return o.set(tree, fmt.Sprintf("src/new-%d.txt", c.IntN(3)), fileMode, o.blob(fmt.Sprintln("new", c.IntN(3))))
	case n < 15:
		return o.set(tree, "src/old.txt", "", "")
	case n < 16:
		return move("src/util.txt", "src/lib/util.txt")
	case n < 17:
		mode, id := o.at(tree, "src/run.sh")
		return o.set(tree, "src/run.sh", map[string]string{"100755": fileMode, fileMode: "100755"}[mode], id)
	case n < 18:
		return o.set(tree, "src/link", "120000", o.blob(fmt.Sprint("util.txt", c.IntN(3))))
	case n < 19:
		return o.set(tree, "src/sub", "160000", fmt.Sprintf("%040d", 1+c.IntN(3)))
	default:
		if c.IntN(2) == 0 {
			return o.set(o.set(tree, "src/old.txt", "", ""), "src/old.txt/now.txt", fileMode, o.blob("a directory\n"))
		}
		return move("src/lib/deep.txt", "docs/deep.txt")
	}
}

// editLine changes one line of a text.
func editLine(rng *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	i := rng.IntN(len(lines))
	switch rng.IntN(5) {
	case 0:
		lines = slices.Insert(lines, i, fmt.Sprintf("added %d\n", rng.IntN(1000)))
	case 1:
		lines = slices.Insert(lines, i, "}\n")
	case 2:
		if len(lines) > 2 {
			lines = slices.Delete(lines, i, i+1)
		}
	case 3:
		if len(lines) > 2 {
			lines[0] = fmt.Sprintf("first %d\n", rng.IntN(1000))
			lines[len(lines)-2] = fmt.Sprintf("last %d\n", rng.IntN(1000))
		}
	default:
		lines[i] = fmt.Sprintf("changed %d\n", rng.IntN(1000))
	}
	return strings.Join(lines, "")
}
