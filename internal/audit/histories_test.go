package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/repotest"
	"gitwf/internal/repotest/tool"
)

// people are who has a clone each.
var people = []string{"Ada", "Bob", "Cyd", "Dan", "Eve"}

const (
	fetchedOrigin = "refs/workflow-remotes/origin/" + string(repotest.ID)
	fetchedPeer   = "refs/workflow-remotes/peer/" + string(repotest.ID)
)

// clone is a clone of the server, or the server itself, and who has it.
type clone struct {
	dir, who string
	store    *gitstore.Store
	clock    time.Time
}

func openClone(dir, who string, clock time.Time) *clone {
	store := must(gitstore.Open(context.Background(), dir))
	store.Offline = true // it connects where the test says so
	store.Sound = func(ctx context.Context, id plan.ID, tip plan.OID) error { return Sound(ctx, store, id, tip) }
	return &clone{dir, who, store, clock}
}

// try runs git.
func (c *clone) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (c *clone) git(args ...string) string { return must(c.try(args...)) }

func (c *clone) tip() plan.OID { return must(c.store.Tip(context.Background(), repotest.ID)) }

func (c *clone) state(commit plan.OID) *plan.State {
	return must(c.store.SnapshotAt(context.Background(), repotest.ID, commit)).State()
}

// happen records one event, and returns its kind; "" if it found none that is allowed. It prefers what rarely happened.
func (c *clone) happen(rnd *rand.Rand, tag string, made map[string]int) string {
	ctx := context.Background()
	for range 6 {
		c.clock = c.clock.Add(time.Second)
		snap := must(c.store.Snapshot(ctx, repotest.ID))
		m := &maker{ctx: ctx, store: c.store, snap: snap, s: snap.State(), rnd: rnd, batch: c.store.NewBatch(),
			who: c.who, tag: tag, now: c.clock}
		events := m.events()
		names := slices.Sorted(maps.Keys(events))
		name := names[rnd.IntN(len(names))]
		for range 2 {
			if other := names[rnd.IntN(len(names))]; made[other] < made[name] {
				name = other
			}
		}
		if rnd.IntN(5) < 3 {
			name = []string{"engine", "artifact"}[rnd.IntN(2)]
		}
		ev := events[name]()
		if ev == nil {
			continue
		}
		if err := m.batch.Flush(ctx); err != nil {
			panic(err)
		}
		if done, err := c.store.Append(ctx, repotest.ID, ev, gitstore.AppendOptions{Now: c.clock}); err == nil {
			kind := done.Change.Trailers[0].Value
			if made[kind]++; kind != name {
				made[name]++
			}
			return kind
		}
	}
	return ""
}

// histories is one history of several clones after the other, and what they came to.
type histories struct {
	t      *testing.T
	n      int // of this one
	rnd    *rand.Rand
	server *clone
	clones []*clone
	events map[plan.OID]bool // recorded in this one, and not taken back
	policy *gitstore.Policy  // nil where nothing is signed
	rare   map[string]int    // events of this one, by kind

	made                                                       map[string]int // kinds of events and of records
	aside                                                      map[string]int // what was set aside, by code
	joins, peerJoins, recorded, kills, pruned, takenBack, both int
}

func (h *histories) fatal(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("history %d: "+format, append([]any{h.n}, args...)...)
}

// sync joins what the server has with what the clone has, and pushes it.
func (h *histories) sync(c *clone) {
	c.git("fetch", "-q", "--no-tags", "origin", "+refs/workflow/*:refs/workflow-remotes/origin/*")
	theirs := plan.OID(c.git("rev-parse", fetchedOrigin))
	h.join(c, "origin", theirs)
	if now := c.tip(); now != h.server.tip() {
		h.push(c)
	}
}

// syncPeer joins what the next clone has.
func (h *histories) syncPeer(c *clone) {
	c.git("fetch", "-q", "--no-tags", "peer", "+refs/workflow/*:refs/workflow-remotes/peer/*")
	peer := plan.OID(c.git("rev-parse", fetchedPeer))
	if there, here := must(c.store.Archives(context.Background(), peer)), must(c.store.Archives(context.Background(),
		c.tip())); !slices.Equal(there, here) {
		return // a prune goes to the server first
	}
	h.peerJoins++
	h.join(c, "peer", peer)
}

// push pushes the plan to the server, which audits it as its hook would.
func (h *histories) push(c *clone) {
	c.git("push", "-q", "origin", "+"+repotest.Ref+":refs/incoming/plan")
	old, next := h.server.tip(), c.tip()
	if found, err := pushed(context.Background(), h.server.store, old, next); err != nil || len(found) > 0 {
		h.fatal("%s pushes %.12s on %.12s, and the server refuses: %+v, %v", c.who, next, old, found, err)
	}
	h.server.git("update-ref", repotest.Ref, string(next), string(old))
}

// join joins another history with the clone's, and looks at what came of it.
func (h *histories) join(c *clone, remote string, first plan.OID) {
	ctx := context.Background()
	own := c.tip()
	if h.rnd.IntN(10) == 0 {
		h.kill(c, "join", string(first))
		if now := c.tip(); now != own {
			return // it was killed after the join; that is looked at when the server gets it
		}
	}
	done, err := c.store.Join(ctx, repotest.ID, first, c.clock)
	for range 3 {
		if err == nil {
			break
		}
		if absent := (*gitstore.AbsentError)(nil); remote == "peer" && !errors.As(err, &absent) {
			return // pruned by one of the two alone: the server decides
		}
		h.mend(c, remote, err)
		if own = c.tip(); remote == "origin" {
			first = h.server.tip() // the clone may have pushed
		}
		done, err = c.store.Join(ctx, repotest.ID, first, c.clock)
	}
	if err != nil {
		h.fatal("%s: %v", c.who, err)
	}
	if done.Second != "" {
		h.joins++
		h.look(c, first, own, done)
	} else if !must(c.store.IsAncestor(ctx, own, done.Tip)) &&
		c.git("log", "-1", "--format=%P%(trailers:key=Wf-Event,valueonly)", string(own)) == "pruned" {
		h.takenBack++ // a prune that nothing follows gives way to what others have recorded
		delete(h.events, own)
	}
}

// mend does what an error says: it fetches an archive, pushes a prune, or takes one back.
func (h *histories) mend(c *clone, remote string, said error) {
	var f fault.Fault
	if !errors.As(said, &f) {
		h.fatal("%s: %v", c.who, said)
	}
	_, hint := f.Exit()
	line := strings.ReplaceAll(hint, "<remote>", remote)
	own, server := c.tip(), h.server.tip()
	if out, err := c.try("-c", "alias.sh=!sh", "sh", "-c", line); err != nil {
		h.fatal("%s, at %.12s, joins what %s has: %v\n%s\n%v", c.who, own, remote, said, out, err)
	}
	if now := h.server.tip(); now != server {
		if found, err := pushed(context.Background(), h.server.store, server, now); err != nil || len(found) > 0 {
			h.fatal("%s: after %s the server finds %+v, %v", c.who, line, found, err)
		}
	}
	if now := c.tip(); now != own {
		h.takenBack++
		kept := c.git("rev-list", "--glob=refs/workflow-damaged/*", "--glob=refs/workflow-archive/*", "^"+string(now))
		for oid := range strings.FieldsSeq(kept) {
			delete(h.events, plan.OID(oid))
		}
	}
}

// look checks that a join lost nothing, and approves nothing twice.
func (h *histories) look(c *clone, first, own plan.OID, done gitstore.Joined) {
	ctx := context.Background()
	message := c.git("log", "-1", "--format=%B", string(done.Tip))
	lost := map[string]bool{}
	for _, a := range done.Aside {
		h.aside[a.Code]++
		for _, path := range a.Paths {
			lost[path] = true
		}
		if a.Command == "" || !strings.Contains(message, a.String()) {
			h.fatal("the join does not say what makes it again: %+v", a)
		}
	}
	tree, theirs, mine := h.listing(c, done.Tip), h.listing(c, first), h.listing(c, own)
	taken := map[plan.OID]bool{}
	stubs := map[string]bool{}
	for path, oid := range tree {
		taken[oid] = true
		if dir, _, ok := strings.Cut(path, "/pruned-"); ok {
			stubs[dir] = true
		}
	}
	for path, oid := range theirs {
		if tree[path] != oid {
			h.fatal("%s of the first is %s", path, tree[path])
		}
	}
	for path, oid := range mine {
		told := lost[path] || path == "plan.json" || tree[path] == oid || strings.HasPrefix(path, "notes/") &&
			taken[oid]
		for dir := path; strings.Contains(dir, "/") && !told; {
			dir = dir[:strings.LastIndexByte(dir, '/')]
			told = lost[dir] || path == dir+"/files" && stubs[dir]
		}
		if dir, _, ok := strings.Cut(path, "/files/"); !told && !(ok && stubs[dir]) && !maskedThere(ctx, c.store,
			tree[path]) {
			h.fatal("%s joins %.12s with %.12s to %.12s, and nobody learns of %s", c.who, first, own, done.Tip, path)
		}
	}
	f, s, j := c.state(first), c.state(own), c.state(done.Tip)
	for id, t := range j.Tasks {
		in, of := f.Tasks[id], s.Tasks[id]
		if t.NodeType != plan.Action || in == nil || in.Approved == 0 {
			continue
		}
		if of != nil && of.Approved > 0 && lost[id.Dir()+"/"+plan.ArtifactRecord{Version: of.Approved}.Path()] {
			h.both++ // one of the two is set aside
		}
		// The status may differ: what it was made from may be made again there.
		knew := of != nil && of.Approved == t.Approved && of.Active == t.Active
		if t.Approved != in.Approved && !knew {
			h.fatal("%s was approved as v%d, and is v%d after the join, %s", id, in.Approved, t.Approved, t.Status)
		}
	}
}

// maskedThere reports whether a record was masked.
func maskedThere(ctx context.Context, store *gitstore.Store, oid plan.OID) bool {
	data, err := store.ReadBlob(ctx, oid)
	return err == nil && strings.Contains(string(data), "[masked]")
}

func (h *histories) listing(c *clone, commit plan.OID) map[string]plan.OID {
	all := map[string]plan.OID{}
	for _, e := range must(c.store.ListTree(context.Background(), commit)) {
		all[e.Path] = e.OID
	}
	return all
}

// kill has another process do something in a clone, and kills it at one of its calls of git, before or after it.
func (h *histories) kill(c *clone, what ...string) {
	if runtime.GOOS == "windows" {
		return
	}
	dir := h.t.TempDir()
	cmd := exec.Command(os.Args[0], what...)
	cmd.Env = append(os.Environ(), "WF_CHILD="+c.dir, "WF_WHO="+c.who, "WF_CLOCK="+c.clock.Format(time.RFC3339),
		"WF_KILL="+dir, fmt.Sprint("WF_KILL_AT=", h.rnd.IntN(25)), fmt.Sprint("WF_KILL_AFTER=", h.rnd.IntN(2)),
		"WF_GIT="+must(exec.LookPath("git")), "PATH="+killers+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, "n"), []byte("0\n"), 0o644); err != nil {
		panic(err)
	}
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == -1 {
		h.kills++
	} else if err != nil {
		h.fatal("%v: %v\n%s", what, err, out)
	}
	c.store.Close()
	*c = *openClone(c.dir, c.who, c.clock)
}

// killers has a git that kills who calls it.
var killers string

const killer = `#!/bin/sh
n=$(cat "$WF_KILL/n")
echo $((n + 1)) >"$WF_KILL/n"
if test "$n" -ne "$WF_KILL_AT"; then exec "$WF_GIT" "$@"; fi
if test "$WF_KILL_AFTER" = 1; then "$WF_GIT" "$@"; fi
kill -KILL "$PPID"
`

// child is the process that is killed.
func child(dir string) {
	clock := must(time.Parse(time.RFC3339, os.Getenv("WF_CLOCK")))
	c := openClone(dir, os.Getenv("WF_WHO"), clock)
	switch os.Args[1] {
	case "join":
		if _, err := c.store.Join(context.Background(), repotest.ID, plan.OID(os.Args[2]), clock); err != nil {
			os.Exit(0) // which is made again where somebody looks
		}
	case "happen":
		seed := must(strconv.ParseUint(os.Args[2], 10, 64))
		c.happen(rand.New(rand.NewPCG(seed, 2)), os.Args[3], map[string]int{})
	}
	c.store.Close()
}

// work has a clone record a few events.
func (h *histories) work(c *clone, most int) {
	for n := range h.rnd.IntN(most) {
		before := c.tip()
		tag := fmt.Sprintf("h%d-%s-%d-%d", h.n, c.who, c.clock.Unix()%100000, n)
		switch {
		case h.rnd.IntN(60) == 0:
			h.kill(c, "happen", fmt.Sprint(h.rnd.Uint64()), tag)
		case h.rnd.IntN(150) == 0:
			h.prune(c)
		default:
			c.happen(h.rnd, tag, h.rare)
		}
		if now := c.tip(); now != before {
			h.recorded++
			h.events[now] = true
		}
	}
}

func (h *histories) prune(c *clone) bool {
	_, _, err := c.store.Prune(context.Background(), repotest.ID, 1, c.clock)
	if err == nil {
		h.pruned++
		h.events[c.tip()] = true
	}
	return err == nil
}

// run is one history: clones that work, join, and in the end all have the same.
func (h *histories) run() {
	if h.rnd.IntN(2) == 0 {
		h.work(h.clones[0], 80) // far enough for what takes several steps
	}
	for turn := range 3 * len(h.clones) {
		c := h.clones[h.rnd.IntN(len(h.clones))]
		h.work(c, 9)
		switch h.rnd.IntN(5) {
		case 0: // it is offline
		case 1:
			if turn > 0 {
				h.syncPeer(c)
			}
		default:
			h.sync(c)
			if h.rnd.IntN(12) == 0 && h.prune(c) {
				h.sync(c)
			}
		}
	}
	for range 2 {
		for _, i := range h.rnd.Perm(len(h.clones)) {
			if c := h.clones[i]; c.tip() != h.server.tip() {
				h.sync(c)
			}
		}
	}
	ctx := context.Background()
	tip := h.server.tip()
	for _, c := range append(slices.Clone(h.clones), h.server) {
		if c.tip() != tip {
			h.fatal("%s is at %s, the server at %s", c.who, c.tip(), tip)
		}
		if same, err := c.store.Join(ctx, repotest.ID, tip, c.clock); err != nil || same.Second != "" ||
			same.Tip != tip {
			h.fatal("a history joined with itself: %+v, %v", same, err)
		}
		if found, err := Plan(ctx, c.store, repotest.ID, Options{}); err != nil || len(found) > 0 {
			h.fatal("%s: doctor finds %+v, %v", c.who, found, err)
		}
	}
	h.count()
	if h.policy == nil {
		return
	}
	snap := must(h.server.store.SnapshotAt(ctx, repotest.ID, tip))
	proof := must(export.Prove(ctx, h.server.store, snap, h.policy))
	for id, t := range snap.State().Tasks {
		if t.NodeType == plan.Action && t.Approved > 0 && proof.Snapshot.State().Tasks[id].Approved != t.Approved {
			h.fatal("%s v%d is approved, and not proven: %v", id, t.Approved, proof.Missing(id,
				plan.VersionID(t.Approved)))
		}
	}
}

// count counts what the server has, and checks that it has all that was ever recorded.
func (h *histories) count() {
	out := h.server.git("log", "--glob=refs/workflow*", "--no-renames", "--name-status", "--root", "--no-merges",
		"--format=%x00%H %(trailers:key=Wf-Event,valueonly,separator=%x20)")
	has := map[plan.OID]bool{}
	for part := range strings.SplitSeq(out, "\x00") {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		commit, kind, _ := strings.Cut(lines[0], " ")
		has[plan.OID(commit)] = true
		if h.events[plan.OID(commit)] || kind == plan.EventPlan {
			h.made["event "+kind]++
			for _, line := range lines[1:] {
				if path, ok := strings.CutPrefix(line, "A\t"); ok {
					h.made["record "+h.form(path)]++
				}
			}
		}
	}
	for commit := range h.events {
		if !has[commit] {
			h.fatal("%s is lost", commit)
		}
	}
}

var recordForms []struct {
	name string
	re   *regexp.Regexp
}

// form is the form of a record's name, as docs/format/records.md has it.
func (h *histories) form(name string) string {
	if _, rest, ok := plan.SplitPath(name); ok {
		name = rest
	}
	for _, f := range recordForms {
		if f.re.MatchString(name) {
			return f.name
		}
	}
	return name
}

// readForms reads the kinds of records that a test of internal/plan writes from the program's table.
func readForms(t *testing.T) (names []string) {
	data, err := os.ReadFile("../../docs/format/records.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.NewReplacer("NNNN", `\d{4,}`, "NAME", `[^/]+`, "KIND", "[a-z_]+", "VERDICT",
		"(APPROVED|REJECTED)", "SCORE", `\d+`,
		"N", `\d+`, "V", `\d+`, "A", `\d+`, "B", `\d+`, "D", `\d+`, "R", `\d+`, ".", `\.`)
	in := bufio.NewScanner(strings.NewReader(string(data)))
	for in.Scan() {
		cells := strings.Split(in.Text(), " | ")
		dir := strings.Trim(strings.TrimPrefix(cells[0], "| "), "`")
		if len(cells) != 4 || !strings.HasSuffix(dir, "/") {
			continue
		}
		for form := range strings.SplitSeq(cells[1], ", ") {
			form = dir + strings.Trim(form, "`")
			end := "$"
			if strings.HasSuffix(form, "/files") {
				end = "/"
			}
			recordForms = append(recordForms, struct {
				name string
				re   *regexp.Regexp
			}{form, regexp.MustCompile("^" + dir + fields.Replace(strings.TrimPrefix(form, dir)) + end)})
			names = append(names, "record "+form)
		}
	}
	kinds, _ := plan.EventKinds()
	for _, kind := range kinds {
		names = append(names, "event "+kind)
	}
	return names
}

// template is a repository that histories begin with.
type template struct {
	dir    string
	policy *gitstore.Policy
	keys   map[string]string // the files of keys
}

// templates are repositories with a plan of each version, signed or not.
func templates(t *testing.T) (all []template) {
	for _, text := range []string{teamPlan("one"), flowPlan("one")} {
		r := repotest.New(t)
		r.Plan(text)
		all = append(all, template{dir: r.Dir})
		if tool.Broken("ssh-keygen") != "" {
			continue
		}
		signed := template{filepath.Join(t.TempDir(), "signed"), nil, map[string]string{}}
		var keys []policy.Key
		for _, name := range people {
			file := filepath.Join(t.TempDir(), name)
			if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
				file).CombinedOutput(); err != nil {
				t.Fatalf("ssh-keygen: %v\n%s", err, out)
			}
			keys = append(keys, policy.Key{Name: name,
				SSH: strings.TrimSpace(string(must(os.ReadFile(file + ".pub"))))})
			signed.keys[name] = file + ".pub"
		}
		if err := os.CopyFS(signed.dir, os.DirFS(r.Dir)); err != nil {
			t.Fatal(err)
		}
		c := openClone(signed.dir, "Ada", repotest.Now)
		signed.policy = must(c.store.AppendPolicy(context.Background(), repotest.Now,
			func(p *gitstore.Policy) (plan.Change, error) {
				next := p.Policy
				next.Keys = keys
				return plan.Change{Subject: "policy: keys", Policy: policy.Encode(&next)}, nil
			}))
		c.store.Close()
		all = append(all, signed)
	}
	return all
}

// begin makes the server and the clones of a history.
func (h *histories) begin(tm template, clones int) {
	dir := h.t.TempDir()
	server := filepath.Join(dir, "server")
	place := func(i int) string { return filepath.Join(dir, people[i%clones]) }
	h.policy, h.events, h.rare = tm.policy, map[plan.OID]bool{}, map[string]int{}
	for i := range clones + 1 {
		at, who, config := server, "server", ""
		if i < clones {
			at, who = place(i), people[i]
			config = fmt.Sprintf("[user]\n\tname = %s\n\temail = %[1]s@example.com\n[wf]\n\tremote = origin\n[remote \"origin\"]\n\turl = %s\n"+
				"[remote \"peer\"]\n\turl = %s\n", who, filepath.ToSlash(server), filepath.ToSlash(place(i+1)))
			if key := tm.keys[who]; key != "" {
				config += fmt.Sprintf("[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = %s\n[commit]\n\tgpgSign = true\n", filepath.ToSlash(key))
			}
		}
		if err := os.CopyFS(at, os.DirFS(tm.dir)); err != nil {
			h.t.Fatal(err)
		}
		file := filepath.Join(at, ".git", "config")
		text := string(must(os.ReadFile(file))) + config
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
		c := openClone(at, who, repotest.Now.Add(time.Duration(i)*7*time.Hour)) // clocks a day apart
		if i < clones {
			h.clones = append(h.clones, c)
		} else {
			h.server = c
		}
	}
}

func (h *histories) end() {
	for _, c := range append(h.clones, h.server) {
		c.store.Close()
		os.RemoveAll(c.dir)
	}
	h.clones = nil
}

// Clones that record what they like, offline for as long as they like, killed now and then, lose nothing when they
// join, with the server or with each other: what the joined plan lacks was set aside, with a command that makes it
// again; every other clone and the server compute the same joins; and in the end all have the same. WF_JOINS is the
// number of histories, WF_JOINS_FROM the first.
func TestJoinedHistories(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("WF_JOINS"))
	first, _ := strconv.Atoi(os.Getenv("WF_JOINS_FROM"))
	if count == 0 {
		if count = 8; testing.Short() {
			count = 2
		}
	}
	const enough = 100 // for each kind of event and record
	names := readForms(t)
	all := templates(t)
	killers = t.TempDir()
	if err := os.WriteFile(filepath.Join(killers, "git"), []byte(killer), 0o755); err != nil {
		t.Fatal(err)
	}
	h := &histories{t: t, made: map[string]int{}, aside: map[string]int{}}
	for n := first; n < first+count; n++ {
		h.n, h.rnd = n, rand.New(rand.NewPCG(uint64(n), 1))
		h.begin(all[n%len(all)], 2+h.rnd.IntN(len(people)-1))
		h.run()
		h.end()
	}
	t.Logf("%d histories, %d events, %d joins, %d fetched from another clone, %d kills, %d pruned, %d of them taken back, %d approved twice, one aside; aside: %v",
		count, h.recorded, h.joins, h.peerJoins, h.kills, h.pruned, h.takenBack, h.both, h.aside)
	for _, name := range names {
		if t.Logf("%6d %s", h.made[name], name); h.made[name] == 0 && count >= enough {
			t.Errorf("no %s was ever made", name)
		}
	}
	if h.joins < count || len(h.aside) == 0 {
		t.Error("hardly anything was joined")
	}
}
