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

// A codeStage is the start of the histories of one repository: its code, which the policy protects, and the plans whose
// versions change it, made with git-wf.
type codeStage struct {
	stage
	protected bool              // the policy protects the code
	world     uint64            // its number
	quorum    int               // how many people must approve
	noRevert  bool              // the policy lets nobody take back what landed, but by an undo
	undone    bool              // something that landed is taken back for good
	texts     map[string]string // the plans as people wrote them
	patterns  map[string][]pattern
	undoes    map[string]string // by plan, the task and version that it takes back: "PLAN TASK@vN"
	evil      string            // a commit that nobody approved, which a baseline of the newest policy exempts
	wide      []string          // commits that nobody approved, which were there when the protection was widened
	landed    string            // the commit of main after some versions landed
	ghost     string            // the line that some approved versions remove, and that never was there
	said      []string
}

// protects returns the patterns of a policy.
func (s *codeStage) protects(policy string) []pattern { return s.patterns[policy] }

// policies returns the policy before and after the protection was widened, and one that exempts what nobody approved.
func (s *codeStage) policies() []string {
	all := s.plans["refs/workflow/policy"]
	return all[len(all)-3:]
}

const taskText = `  - task_id: %s
    title: %s
    description: The program has it.
    depends_on: [%s]
    estimated_person_days: 0.5
    deliverable_spec: {format: change, paths: ['**']}
    acceptance_criteria: [{id: A1, statement: It is there.%s}]
%s`

// coder makes a stage.
type coder struct {
	*codeStage
	*rand.Rand
	ctx     context.Context
	work    *chaostest.Repo
	objects *objects
	begin   string // the commit that the plans begin with
	bob     *chaostest.Repo
	failed  error
}

func (c *coder) must(_ any, err error) {
	if c.failed == nil {
		c.failed = err
	}
}

func (c *coder) chance(percent int) bool { return c.IntN(100) < percent }

func (c *coder) git(args ...string) string {
	out, err := c.work.Git(c.ctx, args...)
	c.must(nil, err)
	return strings.TrimSpace(out)
}

func (c *coder) wf(args ...string) bool { return c.as(c.work, args...) }

func (c *coder) as(who *chaostest.Repo, args ...string) bool {
	if c.failed != nil {
		return false
	}
	o, err := who.WF(c.ctx, args...)
	c.must(nil, err)
	if o.Exit != 0 {
		c.said = append(c.said, o.String())
	}
	return o.Exit == 0
}

// newCodeStage lets people plan, change and review, as the random numbers say. What the policy demands, and whether
// something is undone, goes by the number of the world.
func newCodeStage(ctx context.Context, lab *chaostest.Lab, world uint64, rng *rand.Rand) (*codeStage, error) {
	s := &codeStage{stage: stage{lab: lab, plans: map[string][]string{}, objects: map[string]object{}}, quorum: 1,
		texts: map[string]string{}, patterns: map[string][]pattern{}, undoes: map[string]string{}}
	if world%3 == 0 {
		s.quorum = 2
	}
	s.world, s.noRevert, s.undone = world, world%7 == 6, world%2 == 0
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
		bob := *work
		bob.Env = append(slices.Clone(bob.Env), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Bob")
		c := &coder{codeStage: s, Rand: rng, ctx: ctx, work: work, bob: &bob}
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
			have := []pattern{patternOf("src/**"), patternOf("!src/gen/**"), patternOf("pkg/*/code/**")}
			wide := append(slices.Clone(have), patternOf("lib/**"))
			if s.protected {
				all := s.policies()
				s.patterns = map[string][]pattern{all[0]: have, all[1]: wide, all[2]: wide}
			}
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
	if c.must(nil, err); err == nil {
		c.objects = &objects{dir: filepath.Join(c.work.Dir, ".git", "objects"), known: known}
	}
}

// numbered returns lines that are like no others, but for some that every text has.
func numbered(of string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s line %d\n", of, i)
		if i%9 == 8 {
			b.WriteString("}\n")
		}
	}
	return b.String()
}

func (c *coder) build(team string) {
	o := c.objects
	tree := c.git("rev-parse", "HEAD^{tree}")
	for name, text := range map[string]string{
		"src/a.txt": numbered("a", 50), "src/b.txt": numbered("b", 50), "src/c.txt": numbered("c", 50),
		"src/run.sh": numbered("run", 8), "src/old.txt": numbered("old", 12), "src/moved.txt": numbered("moved", 30),
		"src/out.txt":      numbered("out", 20),
		"src/lib/deep.txt": numbered("deep", 20), "pkg/x/code/m.txt": numbered("m", 20), "src/gen/made.txt": "made\n",
		"docs/guide.txt": numbered("guide", 12), "free/look.txt": numbered("look", 20), "lib/l.txt": numbered("l", 20),
		"pkg/x/readme": "no code\n", "SRC.txt": "no code\n",
		".gitmodules": "[submodule \"sub\"]\n\tpath = src/sub\n\turl = ./sub\n",
	} {
		tree = o.set(tree, name, fileMode, o.blob(text))
	}
	tree = o.set(tree, "src/run.sh", "100755", second(o.at(tree, "src/run.sh")))
	tree = o.set(tree, "src/link", "120000", o.blob("a.txt"))
	tree = o.set(tree, "src/sub", "160000", fmt.Sprintf("%040d", 7))
	c.begin = o.commit(tree, []string{c.git("rev-parse", "HEAD")}, "the code")
	c.to(c.begin)
	c.wf("init", "--no-strict")
	c.wf("trust", "--code")
	if team == "ours" {
		c.first = c.begin
		c.protected = c.wf("policy", "protect", "src/**", "!src/gen/**", "pkg/*/code/**", "--changes", "--quorum",
			fmt.Sprint(c.quorum))
		if c.noRevert {
			c.wf("policy", "land.revert", "no")
		}
	}
	kinds := []string{"ins", "rep", []string{"ren", "mode", "link", "del", "into", "out"}[c.IntN(6)], "add",
		[]string{"ins2", "ins", "pkg"}[c.IntN(3)], []string{"stack", "fun"}[c.world%2], "ins", "ins2"}
	if team == "theirs" {
		c.plan("Code", kinds[:2])
		return
	}
	c.plan("Code", kinds)
	c.plan("More", []string{"ins", []string{"ren", "mode", "link", "del", "into", "out"}[c.IntN(6)]})
	c.haunt(tree)
	c.undo()
	c.load()
	c.landed = c.git("rev-parse", "main")
	// What others have when the protection is widened.
	o = c.objects
	c.evil = o.commit(o.set(tree, "src/evil.txt", fileMode, o.blob("evil\n")), []string{c.first}, "evil")
	for i, ref := range []string{"refs/heads/topic", "refs/heads/wf/code-1", "refs/remotes/fork/main", "refs/heads/fork"} {
		text := c.textAt(tree, "src/a.txt")
		next := o.commit(o.set(tree, "src/a.txt", fileMode, o.blob(text+fmt.Sprintln("evil", i))), []string{c.first},
			"not approved")
		c.git("update-ref", ref, next)
		c.wide = append(c.wide, next)
	}
	c.wf("policy", "protect", "lib/**", "--changes")
	c.wf("policy", "baseline", c.evil, "-m", "so")
	n := strings.Count(c.git("rev-list", "refs/workflow/policy"), "\n") + 1
	c.protected = c.protected && (n == 3 && !c.noRevert || n == 4 && c.noRevert)
}

// to moves main and the worktree.
func (c *coder) to(commit string) {
	c.git("update-ref", "refs/heads/main", commit)
	c.git("reset", "-q", "--hard")
}

func (c *coder) textAt(tree, name string) string {
	_, id := c.objects.at(tree, name)
	return string(c.objects.known[id].body)
}

// haunt plans changes that remove a line which never was there: the plan begins with a commit that main does not keep.
func (c *coder) haunt(tree string) {
	was := c.git("rev-parse", "main")
	c.load()
	c.ghost = "back door\n"
	text := c.textAt(tree, "src/a.txt")
	with := c.objects.set(tree, "src/a.txt", fileMode, c.objects.blob(c.ghost+text))
	begin := c.begin
	c.begin = c.objects.commit(with, []string{c.first}, "a back door")
	c.to(c.begin)
	c.plan("Ghost", []string{"exorcise", "exorcise too"})
	c.begin = begin
	c.to(was)
}

// undo takes one landed change back for good, and may have it made again.
func (c *coder) undo() {
	const id, task = "WFS-code", "CODE-1"
	if !c.undone {
		return
	}
	landed := c.git("rev-list", "-1", "--grep", "Wf-Task: "+task+"$", "main")
	if landed == "" && !c.wf("land", "--plan", id, task) {
		return
	}
	if !c.wf("undo", "--plan", id, task) {
		return
	}
	plan := c.git("for-each-ref", "--format=%(refname:lstrip=2)", "--count=1", "refs/workflow/WFS-undo-*")
	version := c.git("log", "-1", "--format=%(trailers:key=Wf-Artifact,valueonly)", "--grep", "Wf-Task: "+task+"$", "main")
	if plan == "" || !c.approve(plan, "UNDO-1") {
		return
	}
	c.undoes[plan] = id + " " + task + "@" + strings.TrimSpace(version)
	if c.chance(60) && c.wf("land", "--plan", plan, "UNDO-1") && c.chance(60) {
		if c.wf("review", "--plan", id, task, "--reject", "-m", "so") && c.submit(id, task, "ins", 1, true) {
			c.approve(id, task)
		}
	}
}

func (c *coder) plan(title string, kinds []string) {
	id := "WFS-" + strings.ToLower(title)
	text := "title: " + title + "\ntasks:\n"
	name := func(i int) string { return fmt.Sprintf("%s-%d", strings.ToUpper(title), i+1) }
	checks := -1
	if c.quorum > 1 {
		checks = 1 + c.IntN(2) // the engine counts as nobody
	}
	for i, kind := range kinds {
		needs, run, by := "", "", ""
		if kind == "stack" || kind == "fun" {
			needs = name(0)
		}
		if i == checks {
			run, by = `, run: "true"`, "    review: {by: [checks, person]}\n"
		}
		text += fmt.Sprintf(taskText, name(i), title+" "+kind, needs, run, by)
	}
	c.texts[id] = text
	c.write("plan.yaml", text)
	if !c.wf("plan", "-f", "plan.yaml") {
		c.must(nil, fmt.Errorf("no plan"))
		return
	}
	approved := map[string]bool{"": true}
	for i, kind := range kinds {
		needs := ""
		if kind == "stack" || kind == "fun" {
			needs = name(0)
		}
		if c.failed == nil && approved[needs] {
			approved[name(i)] = c.task(id, name(i), kind, i == checks)
		}
	}
	if c.chance(50) { // the criteria are amended, and what is approved is set aside
		i := 1 + c.IntN(len(kinds)-1)
		if kinds[i] == "stack" || kinds[i] == "fun" {
			i--
		}
		at := strings.Index(text, name(i)+"\n")
		text = text[:at] + strings.Replace(text[at:], "It is there.", "It is really there.", 1)
		c.write("plan.yaml", text)
		if c.wf("plan", "--plan", id, "--amend", "-f", "plan.yaml", "-m", "so") && approved[name(i)] && c.chance(50) {
			if c.submit(id, name(i), kinds[i], 1, false) {
				c.approve(id, name(i))
			}
		}
	}
	c.must(nil, os.Remove(filepath.Join(c.work.Dir, "plan.yaml")))
}

func (c *coder) write(name, text string) {
	c.must(nil, os.WriteFile(filepath.Join(c.work.Dir, name), []byte(text), 0o666))
}

// approve lets as many people approve as the policy wants.
func (c *coder) approve(id, task string) bool {
	return c.wf("review", "--plan", id, task, "--approve", "-m", "so") &&
		(c.quorum < 2 || c.as(c.bob, "review", "--plan", id, task, "--approve", "-m", "so"))
}

// submit hands in a version of a task.
func (c *coder) submit(id, task, kind string, nth int, builds bool) bool {
	from := c.begin
	if builds || kind == "stack" || kind == "fun" {
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
	_, h, _ := c.objects.parsed(from)
	tree := c.edit(h["tree"][0], kind, fmt.Sprintf("%s %d", task, nth))
	commit := c.objects.commit(tree, []string{from}, "work")
	return tree != h["tree"][0] && c.wf("submit", "--plan", id, task, "--commit", commit, "-m", "It has "+task+".")
}

// task hands in versions of a task, and reviews them; it reports whether the newest is approved.
func (c *coder) task(id, task, kind string, checks bool) bool {
	reject := func() bool { return c.wf("review", "--plan", id, task, "--reject", "-m", "so") }
	submit := func(nth int, builds bool) bool { return c.submit(id, task, kind, nth, builds) }
	if !submit(1, false) {
		return false
	}
	if checks { // one person and the engine
		return c.wf("run", "--plan", id) || c.wf("review", "--plan", id, task, "--approve", "-m", "so")
	}
	if strings.HasPrefix(kind, "exorcise") {
		return c.approve(id, task)
	}
	again := kind == "ins" || kind == "ins2" || kind == "rep" // others can't be done twice
	switch n := c.IntN(100); {
	case n < 55 || (task == "CODE-1" || kind == "fun") && c.world%4 < 2 || !again && n < 90:
		return c.approve(id, task)
	case n < 67:
		return reject() && submit(2, false) && c.approve(id, task)
	case n < 74:
		return c.approve(id, task) && reject() && submit(2, false) && c.approve(id, task)
	case n < 90: // what is made anew after it landed begins with what landed
		return c.approve(id, task) && c.wf("land", "--plan", id, task) && reject() && submit(2, true) && c.approve(id, task)
	case n < 94:
		return c.approve(id, task) && reject() && false
	case n < 97:
		reject()
	}
	return false
}

// edit returns a tree with the work on a task done. Each line that it adds is like no other.
func (c *coder) edit(tree, kind, name string) string {
	o := c.objects
	text := []string{"src/a.txt", "src/b.txt", "src/c.txt"}
	change := func(file string, f func(lines []string, i int) []string) {
		mode, id := o.at(tree, file)
		if mode == "" {
			return
		}
		lines := slices.Collect(strings.Lines(string(o.known[id].body)))
		i := 1 + c.IntN(len(lines)-2)
		for lines[i] == "}\n" || !strings.Contains(lines[i], " line ") {
			i = 1 + c.IntN(len(lines)-2)
		}
		tree = o.set(tree, file, mode, o.blob(strings.Join(f(lines, i), "")))
	}
	added := 0
	insert := func(lines []string, i int) []string {
		added++
		return slices.Insert(lines, i, fmt.Sprintf("of %s, %d, %x\n", name, added, c.Uint32()))
	}
	move := func(from, to string) {
		if mode, id := o.at(tree, from); mode != "" {
			tree = o.set(o.set(tree, from, "", ""), to, mode, id)
		}
	}
	file := text[c.IntN(3)]
	switch kind {
	case "ins":
		change(file, insert)
	case "ins2":
		change(text[0], insert)
		change(text[1+c.IntN(2)], insert)
	case "rep":
		change(file, func(lines []string, i int) []string {
			return append(append(slices.Clone(lines[:i]), fmt.Sprintf("of %s, instead, %x\n", name, c.Uint32())), lines[i+1:]...)
		})
	case "pkg":
		change([]string{"pkg/x/code/m.txt", "src/lib/deep.txt", "src/moved.txt", "src/out.txt"}[c.IntN(4)], insert)
	case "add":
		tree = o.set(tree, "src/new.txt", fileMode, o.blob(numbered(fmt.Sprintf("new of %s, %x", name, c.Uint32()), 12)))
	case "del":
		tree = o.set(tree, "src/old.txt", "", "")
	case "ren":
		move("src/moved.txt", "src/lib/moved.txt")
	case "into": // what nobody protected is code from now on
		move("free/look.txt", "src/look.txt")
	case "out":
		move("src/out.txt", "free/out.txt")
	case "mode":
		_, id := o.at(tree, "src/run.sh")
		tree = o.set(tree, "src/run.sh", fileMode, id)
	case "link":
		tree = o.set(tree, "src/link", "120000", o.blob(fmt.Sprintf("%s.txt", name)))
	case "stack", "fun":
		for p, what := range (&lineOracle{oracle: &oracle{objects: o}, full: map[string]files{}}).of(tree) {
			lines := []string{}
			if isRegular(what) {
				lines = slices.Collect(strings.Lines(string(o.known[what[7:]].body)))
			}
			i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "of CODE-1 ") })
			if i < 0 {
				continue
			}
			line := lines[i]
			if kind == "stack" {
				lines = slices.Insert(lines, i+1, fmt.Sprintf("of %s, below, %x\n", name, c.Uint32()))
			} else { // it goes elsewhere in its file, and something comes with it
				lines = slices.Delete(lines, i, i+1)
				at := (i + len(lines)/2) % len(lines)
				lines = slices.Insert(lines, at, fmt.Sprintf("of %s, moves, %x\n", name, c.Uint32()), line)
			}
			return o.set(tree, p, what[:6], o.blob(strings.Join(lines, "")))
		}
	case "exorcise", "exorcise too":
		_, id := o.at(tree, "src/a.txt")
		tree = o.set(tree, "src/a.txt", fileMode, o.blob(strings.TrimPrefix(string(o.known[id].body), c.ghost)))
		if kind == "exorcise too" {
			change("src/a.txt", insert)
		}
	}
	return tree
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
		if len(lines) > 2 { // two change places
			j := rng.IntN(len(lines) - 1)
			lines[j], lines[min(i, len(lines)-2)] = lines[min(i, len(lines)-2)], lines[j]
		}
	default:
		lines[i] = fmt.Sprintf("changed %d\n", rng.IntN(1000))
	}
	return strings.Join(lines, "")
}
