package attacktest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/chaostest"
	"gitwf/internal/gitstore"
)

// A stage is the start of all worlds: a history of plans that people made with git-wf, and all its objects.
type stage struct {
	lab     *chaostest.Lab
	dir     string // a bare repository with these objects
	objects map[string]object
	first   string              // the first commit of main
	plans   map[string][]string // the commits of each ref below refs/workflow/, oldest first
	bundles []bundle
	loose   []string // blobs that plans know, approved or not
}

// A bundle is one that git wf export made.
type bundle struct {
	dir, tree string
	ref, at   string // the plan's ref, and its commit at the time
	sound     bool   // has no candidates
}

const planText = `title: %s
root_acceptance_criteria: [{id: R1, statement: It is done}]
tasks:
  - task_id: PAGE-1
    title: The page
    description: One page that says hello
    estimated_person_days: 1
    deliverable_spec: {format: txt, filename: page.txt}
    acceptance_criteria: [{id: A1, statement: The page says hello, covers: [R1]}]
  - task_id: PAGE-2
    title: The style
    description: A style that has rules
    covers: [R1]
    estimated_person_days: 1
    deliverable_spec: {format: css, filename: style.css}
    acceptance_criteria: [{id: A1, statement: The style has rules}]
`

// newStage lets people work.
func newStage(ctx context.Context, lab *chaostest.Lab) (*stage, error) {
	s := &stage{lab: lab, dir: filepath.Join(lab.Dir, "stage.git"), plans: map[string][]string{},
		objects: map[string]object{}}
	var failed error
	must := func(_ any, err error) {
		if failed == nil {
			failed = err
		}
	}
	// Two clones that know nothing of each other make plans with the same name: an approval in one proves nothing in
	// the other.
	for _, team := range []string{"ours", "theirs"} {
		work, err := lab.NewRepo(ctx)
		if err != nil {
			return nil, err
		}
		wf := func(args ...string) {
			_, err := work.Must(ctx, args...)
			must(nil, err)
		}
		git := func(args ...string) string {
			out, err := work.Git(ctx, args...)
			must(nil, err)
			return strings.TrimSpace(out)
		}
		wf("init", "--no-strict")
		export := func(id string, sound bool, args ...string) {
			ref := "refs/workflow/" + id
			root := "deliverables"
			if i := slices.Index(args, "--root"); i >= 0 {
				root = args[i+1]
			}
			o, err := work.WF(ctx, append([]string{"export", "--plan", id}, args...)...)
			if err != nil || o.Exit != 0 {
				must(nil, fmt.Errorf("%v %w", o, err))
				return
			}
			dir := root + "/" + id + "/bundle"
			s.bundles = append(s.bundles, bundle{dir, git("rev-parse", git("write-tree")+":"+dir), ref, git("rev-parse", ref),
				sound})
		}
		submit := func(id, task, name, text string) {
			must(nil, os.WriteFile(filepath.Join(work.Dir, name), []byte(text), 0o666))
			wf("submit", "--plan", id, task, name)
			must(nil, os.Remove(filepath.Join(work.Dir, name)))
			s.loose = append(s.loose, git("rev-parse", "refs/workflow/"+id+":"+taskDir(git, id, task)+"/artifacts/"+newest(git,
				id, task)+"/files/"+name))
		}
		review := func(id, task, verdict string) { wf("review", "--plan", id, task, verdict, "-m", "as it is") }
		titles := []string{"Page", "Site", "Gone"}
		if team == "theirs" {
			titles = titles[:1]
		}
		for _, title := range titles {
			id := "WFS-" + strings.ToLower(title)
			file := filepath.Join(work.Dir, "plan.yaml")
			must(nil, os.WriteFile(file, fmt.Appendf(nil, planText, title), 0o666))
			wf("plan", "-f", "plan.yaml")
			must(nil, os.Remove(file))
			if failed != nil {
				return nil, failed
			}
			submit(id, "PAGE-1", "page.txt", team+" hello "+id)
			export(id, false, "--include-candidates", "--partial")
			review(id, "PAGE-1", "--approve")
			export(id, true, "--partial")
			submit(id, "PAGE-2", "style.css", team+" nice "+id)
			review(id, "PAGE-2", "--approve")
			export(id, true)
			if title == "Gone" || team == "theirs" {
				continue
			}
			review(id, "PAGE-1", "--reject")
			submit(id, "PAGE-1", "page.txt", "better "+id)
			export(id, false, "--include-candidates", "--partial")
			review(id, "PAGE-1", "--approve")
			export(id, true)
			review(id, "PAGE-2", "--reject")
			submit(id, "PAGE-2", "style.css", "ugly "+id)
			review(id, "PAGE-2", "--reject")
			submit(id, "PAGE-2", "style.css", "nicer "+id)
			review(id, "PAGE-2", "--approve")
			export(id, true)
			export(id, true, "--partial")
		}
		if failed != nil {
			return nil, failed
		}
		if team == "ours" {
			wf("policy", "protect", "docs/out")
			export("WFS-site", true, "--root", "docs/out")
			wf("policy", "retire", "WFS-gone")
			git("reset", "-q", "--hard")
			must(nil, os.MkdirAll(filepath.Join(work.Dir, "deliverables"), 0o777))
			must(nil, os.WriteFile(filepath.Join(work.Dir, "deliverables", "note.txt"), []byte("waived\n"), 0o666))
			git("add", "deliverables")
			wf("waive", "deliverables/note.txt", "-m", "because")
			s.first = git("rev-parse", "main")
		}
		for _, ref := range strings.Fields(git("for-each-ref", "--format=%(refname)", "refs/workflow")) {
			name := ref
			if team == "theirs" {
				name = "theirs " + ref
			}
			s.plans[name] = strings.Fields(git("rev-list", "--reverse", ref))
		}
		if failed != nil {
			return nil, failed
		}
		all, err := readObjects(ctx, work.Dir, lab.Env)
		if err != nil {
			return nil, err
		}
		if team == "ours" {
			if _, err := work.Git(ctx, "init", "-q", "--bare", s.dir); err != nil {
				return nil, err
			}
		}
		store := &objects{dir: filepath.Join(s.dir, "objects"), known: s.objects}
		for _, obj := range all {
			store.write(obj.kind, obj.body)
		}
		must(nil, work.Remove())
	}
	return s, failed
}

func taskDir(git func(...string) string, id, task string) string {
	for _, fan := range strings.Fields(git("ls-tree", "-d", "-r", "--name-only", "refs/workflow/"+id, "tasks")) {
		if strings.Count(fan, "/") == 2 && strings.HasSuffix(fan, "/"+task) {
			return fan
		}
	}
	return ""
}

func newest(git func(...string) string, id, task string) string {
	all := strings.Fields(git("ls-tree", "--name-only", "refs/workflow/"+id, taskDir(git, id, task)+"/artifacts/"))
	return filepath.Base(all[len(all)-1])
}

// A world is a server and a clone in strict mode, which share their objects, and everything generated in it so far.
type world struct {
	*stage
	dir            string
	server, client *place
	objects        *objects
	made           []string // commits that landed or were refused
}

// A place is a repository with the gate.
type place struct {
	gitDir, objects, cwd string
	hook                 string // the script that git would run
	args, env            []string
	oracle               *oracle
	store                *gitstore.Store
}

// newWorld makes a world with one of the stage's policies, or none. An imagined world has no repositories.
func (s *stage) newWorld(ctx context.Context, policy int, imagined bool) (*world, error) {
	refs := map[string]string{"refs/heads/main": s.first}
	if policy > 0 {
		refs["refs/workflow/policy"] = s.plans["refs/workflow/policy"][policy-1]
	}
	w := &world{stage: s, made: []string{s.first}, server: &place{}, client: &place{}}
	if !imagined {
		if err := w.build(ctx, refs); err != nil {
			return nil, err
		}
	}
	w.objects = (&objects{known: s.objects}).clone(w.server.objects)
	for _, p := range []*place{w.server, w.client} {
		p.oracle = &oracle{objects: w.objects, refs: maps.Clone(refs), clean: map[string]bool{s.first: true},
			states: map[string]map[string]unit{}, strict: p == w.client}
	}
	return w, nil
}

func (w *world) build(ctx context.Context, refs map[string]string) (err error) {
	if w.dir, err = os.MkdirTemp(w.lab.Dir, "world-"); err != nil {
		return err
	}
	run := func(name string, args ...string) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir, cmd.Env = w.dir, w.lab.Env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return nil
	}
	server, client := filepath.Join(w.dir, "server.git"), filepath.Join(w.dir, "client")
	*w.server = place{
		gitDir: server, objects: filepath.Join(server, "objects"), cwd: server,
		hook: filepath.Join(server, "hooks", "pre-receive"), env: append(slices.Clone(w.lab.Env), "GIT_DIR=."),
	}
	*w.client = place{
		gitDir: filepath.Join(client, ".git"), cwd: client, hook: filepath.Join(client, ".git", "hooks",
			"reference-transaction"),
		args: []string{"prepared"}, env: append(slices.Clone(w.lab.Env), "GIT_DIR=.git"),
	}
	for _, step := range []func() error{
		func() error { return os.CopyFS(server, os.DirFS(w.stage.dir)) },
		func() error { return run("git", "init", "-q", client) },
		func() error {
			return os.WriteFile(filepath.Join(w.client.gitDir, "objects", "info", "alternates"), []byte(w.server.objects+"\n"),
				0o666)
		},
		func() error { return setRefs(server, refs) },
		func() error { return setRefs(w.client.gitDir, refs) },
		func() error { return run("git", "wf", "init", "--server", "server.git") },
		func() error { return run("git", "-C", "client", "wf", "init") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) remove() error {
	if w.dir == "" {
		return nil
	}
	return os.RemoveAll(w.dir)
}

// setRefs writes refs as git does, without asking the hooks.
func setRefs(gitDir string, refs map[string]string) error {
	for ref, id := range refs {
		file := filepath.Join(gitDir, filepath.FromSlash(ref))
		if id == "" {
			if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(id+"\n"), 0o666); err != nil {
			return err
		}
	}
	return nil
}
