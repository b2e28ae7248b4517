package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/audit"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// Each rule of docs/format/records.md about what a record says is broken by one record, which nobody takes: who appends, doctor,
// strict mode, a server and verify. The record is honest but for that, and made by the event that makes such records.

const recordsPlan = `
title: Records
top_task: Make records
root_acceptance_criteria: [{id: R1, statement: it is there}]
tasks:
  - {task_id: IMPL-1, title: First, estimated_person_days: 1, deliverable_spec: {filename: a.txt}, acceptance_criteria: [{id: A1, statement: there is a, covers: [R1]}]}
  - {task_id: IMPL-2, title: Second, estimated_person_days: 1, deliverable_spec: {filename: b.txt}, acceptance_criteria: [{id: A1, statement: there is b, run: test -s b.txt}]}
  - task_id: IMPL-3
    title: Third
    estimated_person_days: 1
    depends_on: [IMPL-1]
    deliverable_spec: {filename: c.txt}
    acceptance_criteria: [{id: A1, statement: there is c}, {id: A2, statement: it is short, severity: SHOULD}]
  - {task_id: IMPL-4, title: Asks, estimated_person_days: 1, deliverable_spec: {filename: d.txt}, acceptance_criteria: [{id: A1, statement: there is d}]}
  - {task_id: IMPL-5, title: Goes, estimated_person_days: 1, deliverable_spec: {filename: e.txt}, acceptance_criteria: [{id: A1, statement: there is e}]}
  - task_id: CODE-1
    title: Change
    estimated_person_days: 1
    deliverable_spec: {format: change, paths: [src]}
    acceptance_criteria: [{id: A1, statement: it is changed}]
  - {task_id: CHECK-IMPL-3, node_type: CHECK, title: Review, review_target_task_id: IMPL-3, reviewers: [ann]}
`

// madeEvent is an event that adds what a commit adds, but for what a test changes.
type madeEvent func() plan.Change

func (e madeEvent) Apply(*plan.State) (plan.Change, error) { return e(), nil }

// doc is a document that a test changes; its values are those of JSON.
type doc = map[string]any

// recordCase is a record that breaks a rule.
type recordCase struct {
	path   string              // of the record, in the plan's tree; "" of a rule for every record
	change func(doc)           // makes it break the rule
	text   func(string) string // the same, of a record that is not JSON
	want   string              // in what is said about it
	rename []string            // in paths, the message and who made it: pairs of old and new texts
}

func criterion(d doc, i int) doc { return d["criteria"].([]any)[i].(doc) }

var (
	firstOf  = func(task plan.TaskID, name string) string { return task.Dir() + "/" + name }
	review3  = firstOf("IMPL-3", "reviews/r1-v1-95-ann/review.json")
	made3    = firstOf("IMPL-3", "artifacts/v1/artifact.json")
	check2   = firstOf("IMPL-2", "checks/k1-v1.json")
	ask4     = firstOf("IMPL-4", "questions/q1.json")
	landing1 = firstOf("CODE-1", "landings/l1-v1-landed.json")
	act1     = firstOf("IMPL-1", "acts/v1-a0-verdicts.json")
	order1   = firstOf("IMPL-1", "orders/o1-d1-b1-a0.json")
	prune1   = "pruned/0001-" + strings.Repeat("a", 40) + "/prune.json"
)

// brokenRecords has a record for each row of the table in docs/format/records.md.
var brokenRecords = map[string]recordCase{
	"artifacts/: each of inputs[] is a version of another task, and has its tree": {path: made3,
		change: func(d doc) { d["inputs"].([]any)[0].(doc)["artifact_id"] = "v7" }},
	"artifacts/: files[] have paths as section 2 says, of a change below a/ and b/": {path: made3, rename: []string{"files/c.txt", "files/con"},
		change: func(d doc) { d["files"].([]any)[0].(doc)["path"] = "con" }},
	"artifacts/: base is there where the task changes the repository, and only there": {path: made3,
		change: func(d doc) { d["base"] = doc{"commit": "x", "tree": "y", "after": "z"} }},
	"reviews/: verdict is APPROVED or REJECTED, score from 0 to 100": {path: review3, want: "review",
		change: func(d doc) { d["verdict"] = "FINE" }},
	"reviews/: check_task_id is the task's CHECK": {path: review3,
		change: func(d doc) { d["check_task_id"] = "CHECK-IMPL-2" }},
	"reviews/: spec_hash is the task's": {path: review3, want: "criteria changed",
		change: func(d doc) { d["spec_hash"] = strings.Repeat("0", 64) }},
	"reviews/: criteria[] has each criterion of the task once, with its severity, and no other": {path: review3,
		want: "A1 has no result", change: func(d doc) { d["criteria"] = []any{} }},
	"reviews/: each result is one of those of criteria[]": {path: review3,
		change: func(d doc) { criterion(d, 1)["result"] = "perhaps" }},
	"reviews/: what is waived has a waiver": {path: review3,
		change: func(d doc) { criterion(d, 0)["result"] = "waived" }},
	"reviews/: an approval has every MUST passed or waived": {path: review3, want: "A1 not passed",
		change: func(d doc) { criterion(d, 0)["result"] = "not_judged" }},
	"reviews/: min_score is what the CHECK asks for": {path: review3,
		change: func(d doc) { d["min_score"] = 10 }},
	"reviews/: an approval has a score of at least min_score": {path: review3, want: "at least 90", rename: []string{"-95-", "-10-", "Score: 95", "Score: 10"},
		change: func(d doc) { d["score"] = 10 }},
	"reviews/: with a rubric, the score follows from the ratings, and without one there are none": {path: review3,
		want: "comes from no rubric", change: func(d doc) { d["ratings"] = doc{"taste": 5} }},
	"reviews/: the reviewer may review the task (section 7)": {path: review3, want: "not among its reviewers", rename: []string{"ann", "bob"},
		change: func(d doc) { d["reviewer"] = "bob" }},
	"reviews/: agent is who spoke for a seat, or judged, and is there for nobody else": {path: review3, want: "a review in a seat",
		change: func(d doc) { d["agent"] = "ann" }},
	"reviews/: session is not the one that made the version": {path: review3, want: "the session that made v1",
		change: func(d doc) { d["session"] = "s-1" }},
	"reviews/: self_reviewed is there where who approves made the version": {path: firstOf("IMPL-2", "reviews/r2-v1-95-Ada/review.json"),
		change: func(d doc) { delete(d, "self_reviewed") }},
	"reviews/: judged_by names a version of the reviewer, which judges; cause is there with it alone": {path: review3,
		change: func(d doc) { d["cause"] = "implementation" }},
	"checks/: spec_hash is the task's": {path: check2,
		change: func(d doc) { d["spec_hash"] = "" }},
	"checks/: criteria[] are some of the task's, none twice, with their severity": {path: check2,
		change: func(d doc) { criterion(d, 0)["severity"] = "SHOULD" }},
	"checks/: each result is one of those of criteria[]": {path: check2,
		change: func(d doc) { criterion(d, 0)["result"] = "" }},
	"attempts/: task_id is the CHECK where the name has a version, else the ACTION": {path: firstOf("IMPL-3", "attempts/a1-error.json"),
		change: func(d doc) { d["task_id"] = "CHECK-IMPL-3" }},
	"questions/: name and question say something": {path: ask4, change: func(d doc) { d["question"] = " " }},
	"questions/: kind is one of these, and a choice has options[]": {path: ask4,
		change: func(d doc) { delete(d, "options"); delete(d, "recommended_option_id") }},
	"questions/: recommended_option_id is one of options[]": {path: ask4,
		change: func(d doc) { d["recommended_option_id"] = "green" }},
	"answers/: it answers with what the question asks for": {path: firstOf("IMPL-4", "answers/q1.json"), want: "wants one of the options",
		change: func(d doc) { d["option_id"] = "green" }},
	"inputs/: file_name is one name, as section 2 says; sha256 is one": {path: firstOf("IMPL-4", "inputs/brief/1.json"),
		change: func(d doc) { d["file_name"] = "../brief" }},
	"waivers/: criterion is one of the task's": {path: firstOf("IMPL-2", "waivers/w1-v1-A1.json"), want: "A9", rename: []string{"-A1.json", "-A9.json", "Criterion: A1", "Criterion: A9"},
		change: func(d doc) { d["criterion"] = "A9" }},
	"waivers/: there is a reason": {path: firstOf("IMPL-2", "waivers/w1-v1-A1.json"), want: "needs a reason",
		change: func(d doc) { delete(d, "reason") }},
	"marks/: what is abandoned has a reason": {path: firstOf("IMPL-5", "marks/0001-abandoned.json"), want: "needs a reason",
		change: func(d doc) { delete(d, "reason") }},
	"landings/: the task changes the repository": {path: firstOf("IMPL-1", "landings/l1-v1-landed.json")},
	"landings/: there is a branch, and one of commit, reason and head": {path: landing1,
		change: func(d doc) { d["branch"] = "" }},
	"landings/: each result is one of those of criteria[]": {path: landing1,
		change: func(d doc) { d["criteria"] = []any{doc{"id": "A1", "result": "well"}} }},
	"acts/: schema_version is 1":   {path: act1, change: func(d doc) { d["schema_version"] = 2 }},
	"orders/: schema_version is 1": {path: order1, change: func(d doc) { d["schema_version"] = 2 }},
	"session/: plan_id of what is completed is the plan's": {path: "session/0003-completed.json",
		change: func(d doc) { d["plan_id"] = "WFS-other" }},
	"notes/: a head names who wrote it and when; the text behind it says something, in at most 8 KiB": {
		path: "notes/0001-learnings.md", want: "is no note",
		text: func(s string) string { return s + strings.Repeat("long ", 4000) }},
	"doctor/: mended[] says what and where": {path: "doctor/", want: "has put nothing right",
		change: func(d doc) { d["mended"] = []any{} }},
	"pruned/: plan_id is the plan's, keep at least 1": {path: prune1, change: func(d doc) { d["keep"] = 0 }},
}

// everyRecord are the rules of every record, which one record of each kind breaks.
var everyRecord = map[string]func(d doc){
	"every: it says what its name and the object ids beside it say, and is whole": func(d doc) {
		for _, name := range []string{"task_id", "tree", "created_at"} { // what a document of its kind has of these
			if _, ok := d[name]; ok {
				d[name] = "elsewhere"
				return
			}
		}
	},
	"every: it names somebody as who it is by, of a version, a review and an attempt who made the commit; created_at is a time in UTC, in whole seconds": func(d doc) {
		d["created_at"] = "2026-03-04T05:06:07+01:00"
	},
}

// recordsLab is a plan with one record of each kind, each made by an event of its own.
type recordsLab struct {
	fixture
	by map[string]plan.OID // by the path of a record: the commit that added it
}

func newRecordsLab(t *testing.T) *recordsLab {
	l := &recordsLab{fixture: fixture{repotest.New(t), t}, by: map[string]plan.OID{}}
	l.Plan(recordsPlan)
	l.Approved("IMPL-1", "a.txt", "first")
	l.export(export.Options{Partial: true})
	l.Git("add", "deliverables")
	l.land()
	by := plan.Decision{By: "Ada", CreatedAt: repotest.Now, Reason: "so it is"}
	state := func() *plan.State { return l.Snapshot(repotest.ID).State() }
	l.Version("IMPL-2", "Ada", map[string]string{"b.txt": "second"}, nil)
	two, _ := state().Records.Of("IMPL-2").Version(1)
	hash := func(id plan.TaskID) string { return state().Tasks[id].SpecHash() }
	failed := []plan.CriterionResult{{ID: "A1", Severity: plan.Must, Result: plan.ResultFail, By: "checks"}}
	l.event(plan.AddCheck{Checked: plan.Checked{TaskID: "IMPL-2", ReviewedArtifactID: "v1", Tree: two.Files,
		CreatedAt: repotest.Now, Criteria: failed, SpecHash: hash("IMPL-2")}, Author: agent("checks")})
	l.Review("IMPL-2", 1, "checks", plan.Rejected, nil)
	l.event(plan.Waive{Task: "IMPL-2", Version: 1, Criterion: "A1", Decision: by})
	l.Review("IMPL-2", 1, "Ada", plan.Approved, func(r *plan.Review) { r.Score = 95 })
	l.event(plan.AddAttempt{Attempt: plan.Attempt{TaskID: "IMPL-3", Kind: plan.AttemptError, Agent: "exec",
		CreatedAt: repotest.Now}, Author: agent("exec")})
	l.Version("IMPL-3", "exec", map[string]string{"c.txt": "third"}, func(a *plan.Artifact) { a.Session = "s-1" })
	l.Review("IMPL-3", 1, "ann", plan.Approved, func(r *plan.Review) { r.Score, r.Criteria[1].Result = 95, plan.ResultPass })
	question := plan.Question{Name: "colour", Question: "Which?", Kind: plan.AskChoice, By: "exec", CreatedAt: repotest.Now,
		Options: []plan.Option{{OptionID: "red"}, {OptionID: "blue"}}, RecommendedOptionID: "red"}
	l.event(plan.Ask{Attempt: plan.AddAttempt{Attempt: plan.Attempt{TaskID: "IMPL-4", Kind: plan.AttemptNeedsInput,
		Agent: "exec", CreatedAt: repotest.Now}, Author: agent("exec")}, Questions: []plan.Question{question}})
	l.event(plan.AnswerQuestion{Task: "IMPL-4", Number: 1, Question: question,
		Answer: plan.Answer{OptionID: "blue", By: "Ada", CreatedAt: repotest.Now}})
	tree := plan.OID(l.GitIn("100644 blob "+l.GitIn("brief", "hash-object", "-w", "--stdin")+"\tbrief.txt\n", "mktree"))
	l.event(plan.HandIn{Task: "IMPL-4", Files: []plan.InputDocument{{Name: "brief", FileName: "brief.txt", Tree: tree,
		SHA256: strings.Repeat("0", 64), Size: 5, By: "Ada", CreatedAt: repotest.Now}}})
	l.event(plan.Abandon{Task: "IMPL-5", Decision: by})
	l.event(plan.Note{Category: "learnings", Text: "Short is better.", By: "Ada", CreatedAt: repotest.Now})
	l.event(plan.Mend{Mended: []plan.Mended{{Code: "lost-pointer", Place: "WORKFLOW_HEAD", Did: "removed"}}, By: "Ada",
		CreatedAt: repotest.Now})
	l.Version("CODE-1", "exec", map[string]string{"b/src/x.go": "package x\n"}, func(a *plan.Artifact) {
		a.Base = &plan.Base{Commit: "1", Tree: "2", After: "3"}
	})
	l.Review("CODE-1", 1, "ann", plan.Approved, nil)
	code, _ := state().Records.Of("CODE-1").Version(1)
	landing := plan.Landing{TaskID: "CODE-1", ArtifactID: "v1", Tree: code.Files, Branch: "main", On: "1", Commit: "2",
		By: "Ada", CreatedAt: repotest.Now}
	l.event(plan.Land{Landing: landing})
	l.event(plan.Pause{Decision: by})
	l.event(plan.Resume{Decision: by})
	for line := range strings.Lines(l.Git("log", "--format=%x01%H", "--name-only", "--diff-filter=A", "--no-renames", repotest.Ref)) {
		commit, name := line, ""
		if strings.HasPrefix(line, "\x01") {
			l.by[""] = plan.OID(strings.TrimSpace(strings.TrimPrefix(commit, "\x01")))
		} else if name = strings.TrimSpace(line); name != "" {
			l.by[name] = l.by[""]
		}
	}
	// Records that other kinds of plan have, or that are made when all is done: these are added by hand.
	one, _ := state().Records.Of("IMPL-1").Version(1)
	landing.TaskID, landing.Tree, landing.LandingID = "IMPL-1", one.Files, "l1"
	act := func(kind string) doc {
		return doc{"schema_version": 1, "task_id": "IMPL-1", "artifact_id": "v1", "kind": kind, "wrote": []any{}, "by": "Eve",
			"created_at": "2026-03-04T05:06:07Z"}
	}
	order := plan.Order{SchemaVersion: 1, OrderID: "o1", TaskID: "IMPL-1", ByTask: "IMPL-2", Decision: "v1", Versions: 1,
		Text: "go", CreatedAt: repotest.Now}
	prune := plan.PruneDocument{PlanID: repotest.ID, Archive: plan.OID(strings.Repeat("a", 40)), Keep: 1, By: "Eve",
		CreatedAt: repotest.Now}
	tip := l.Git("rev-parse", repotest.Ref)
	for name, forged := range map[string]struct {
		trailers string
		document any
	}{
		"session/0003-completed.json": {"Wf-Event: completed", plan.CompletionDocument{PlanID: repotest.ID, By: "Eve",
			CreatedAt: repotest.Now}},
		firstOf("IMPL-1", "landings/l1-v1-landed.json"): {"Wf-Event: landing\nWf-Task: IMPL-1\nWf-Artifact: v1", landing},
		act1:   {"Wf-Event: verdicts\nWf-Task: IMPL-1", act("verdicts")},
		order1: {"Wf-Event: decision\nWf-Task: IMPL-2", order},
		prune1: {"Wf-Event: note\nWf-Agent: Eve", prune},
	} {
		l.by[name] = l.ForgeEvent(repotest.Ref, strings.Split(forged.trailers, "\n"),
			map[string]string{name: string(plan.Document(forged.document))})
		l.Git("update-ref", repotest.Ref, tip)
	}
	return l
}

func agent(name string) plan.Actor {
	return plan.Actor{Name: name, Email: name + "@agents.git-wf.invalid"}
}

func (l *recordsLab) event(ev plan.Event) {
	l.t.Helper()
	if _, err := l.Store.Append(context.Background(), repotest.ID, ev, gitstore.AppendOptions{Now: repotest.Now}); err != nil {
		l.t.Fatal(err)
	}
}

// pathOf is the whole path of a record whose name may be known in part only.
func (l *recordsLab) pathOf(name string) string {
	for _, p := range slices.Sorted(maps.Keys(l.by)) {
		if p == name || name == "doctor/" && strings.HasPrefix(p, name) {
			return p
		}
	}
	l.t.Fatalf("no event added %s", name)
	return ""
}

// again makes the commit that added a record once more, with another content of the record.
func (l *recordsLab) again(t *testing.T, name, content string, rename []string) plan.OID {
	t.Helper()
	commit, names := string(l.by[name]), strings.NewReplacer(rename...)
	t.Setenv("GIT_INDEX_FILE", path.Join(t.TempDir(), "index"))
	l.Git("read-tree", commit)
	stage := func(mode, oid, name string) {
		l.GitIn(fmt.Sprintf("%s %s\t%s\n", mode, oid, name), "update-index", "--index-info")
	}
	for added := range strings.Lines(l.Git("diff-tree", "-r", "--name-only", "--no-commit-id", commit)) {
		if added = strings.TrimSpace(added); names.Replace(added) != added {
			oid := l.Git("rev-parse", ":"+added)
			stage("0", strings.Repeat("0", 40), added)
			stage("100644", oid, names.Replace(added))
		}
	}
	if files := path.Dir(name) + "/files"; len(rename) > 0 && path.Base(name) == "artifact.json" {
		content = strings.ReplaceAll(content, l.Git("rev-parse", commit+":"+files),
			l.Git("rev-parse", l.Git("write-tree")+":"+files))
	}
	stage("100644", l.GitIn(content, "hash-object", "-w", "--stdin"), names.Replace(name))
	tree := l.Git("write-tree")
	who := strings.Split(names.Replace(l.Git("log", "-1", "--format=%an%n%ae%n%cn%n%ce", commit)), "\n")
	keys := []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}
	for i, key := range keys {
		t.Setenv(key, who[i])
	}
	made := l.GitIn(names.Replace(l.Git("log", "-1", "--format=%B", commit)), "commit-tree", tree, "-p", commit+"^")
	for _, key := range append(keys, "GIT_INDEX_FILE") {
		os.Unsetenv(key)
	}
	return plan.OID(made)
}

// places are who takes a plan's commit on top of the one before it. Each says why it does not.
func (l *recordsLab) places(t *testing.T, commit plan.OID) map[string]string {
	t.Helper()
	ctx, before := context.Background(), plan.OID(l.Git("rev-parse", string(commit)+"^"))
	said := map[string]string{}
	l.Git("update-ref", repotest.Ref, string(before))
	for name, server := range map[string]bool{"strict mode": false, "a server": true} {
		r, err := New(l.Open(), &gitstore.Policy{}).Moves(ctx, []Move{{repotest.Ref, before, commit}}, server)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			said[name] += f.Message + "\n"
		}
	}
	l.Git("update-ref", repotest.Ref, string(commit))
	found, err := audit.Plan(ctx, l.Open(), repotest.ID, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		said["doctor"] += f.Message + "\n"
	}
	r, err := New(l.Open(), &gitstore.Policy{}).Range(ctx, "HEAD~1..HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		said["verify"] += f.Message + "\n"
	}
	said["appending"] = l.appending(t, commit, before)
	return said
}

// appending records what a commit adds as an event.
func (l *recordsLab) appending(t *testing.T, commit, before plan.OID) string {
	t.Helper()
	c := plan.Change{Subject: "made again", Beside: map[string]any{}}
	files := map[string]bool{}
	for name := range strings.Lines(l.Git("diff-tree", "-r", "--name-only", "--no-commit-id", string(commit))) {
		name = strings.TrimSpace(name)
		if dir, _, ok := strings.Cut(name, "/files/"); !ok {
			data := l.Git("cat-file", "blob", string(commit)+":"+name) + "\n"
			c.Add = append(c.Add, plan.Entry{Path: name, Data: []byte(data)})
		} else if !files[dir] {
			files[dir] = true
			c.Add = append(c.Add, plan.Entry{Path: dir + "/files", OID: plan.OID(l.Git("rev-parse", string(commit)+":"+dir+"/files"))})
		}
	}
	for line := range strings.Lines(l.Git("log", "-1", "--format=%(trailers:only,unfold)", string(commit))) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			c.Trailers = append(c.Trailers, plan.Trailer{Key: key, Value: value})
		}
	}
	for name, made := range l.by {
		var d any
		switch {
		case made == "" || l.Git("merge-base", string(made), string(before)) != string(made):
		case strings.HasSuffix(name, "/artifact.json"):
			d = new(plan.Artifact)
		case strings.Contains(name, "/questions/"):
			d = new(plan.Question)
		}
		if d != nil {
			if err := json.Unmarshal([]byte(l.Git("cat-file", "blob", string(before)+":"+name)), d); err != nil {
				t.Fatal(err)
			}
			c.Beside[name] = d
		}
	}
	l.Git("update-ref", repotest.Ref, string(before))
	who := strings.Split(l.Git("log", "-1", "--format=%an%n%ae", string(commit)), "\n")
	if c.Author = (plan.Actor{Name: who[0], Email: who[1]}); !c.Author.IsAgent() {
		c.Author = plan.Actor{}
	}
	_, err := l.Open().Append(context.Background(), repotest.ID, madeEvent(func() plan.Change { return c }),
		gitstore.AppendOptions{Now: repotest.Now})
	if err != nil {
		return err.Error()
	}
	return ""
}

// rulesOfFormat reads the rules of docs/format/records.md, without backquotes.
func rulesOfFormat(t *testing.T) []string {
	data, err := os.ReadFile("../../docs/format/records.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "\n| record | MUST |\n| --- | --- |\n")
	rest, _, _ = strings.Cut(rest, "\n\n")
	var rules []string
	for row := range strings.Lines(rest) {
		cells := strings.SplitN(strings.Trim(strings.ReplaceAll(row, "`", ""), "| \n"), " | ", 2)
		rules = append(rules, cells[0]+": "+cells[1])
	}
	return rules
}

func TestRecordsSayWhatTheyMaySay(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: 200 audits")
	}
	l := newRecordsLab(t)
	refuse := func(t *testing.T, name, content string, c recordCase) {
		t.Helper()
		said := l.places(t, l.again(t, name, content, c.rename))
		for _, place := range []string{"appending", "doctor", "strict mode", "a server", "verify"} {
			want := c.want
			if place == "verify" && slices.Contains([]string{act1, order1, prune1}, name) {
				want = "" // it says the first thing that is wrong, which is that nothing made these
			}
			if text := said[place]; text == "" || !strings.Contains(text, want) {
				t.Errorf("%s: %s says %q, want %q", name, place, text, c.want)
			}
		}
	}
	kinds := map[string]string{} // a record of each kind that an event of the program made
	for name := range l.by {
		if task, rest, ok := plan.SplitPath(name); (plan.Setting{}).RulesOf(rest, ok) != nil && strings.HasSuffix(name, ".json") {
			forged := l.Git("log", "-1", "--format=%cn", string(l.by[name])) == "Eve"
			if dir, _, _ := strings.Cut(rest, "/"); !forged && task != plan.PlanTaskID && task != "IMPL-1" {
				kinds[dir] = max(kinds[dir], name)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(kinds)) {
		for place, why := range l.places(t, l.by[kinds[dir]]) {
			if why != "" {
				t.Errorf("an honest record of %s: %s says %q", kinds[dir], place, why)
			}
		}
	}
	changed := func(name string, c recordCase) string {
		text := l.Git("cat-file", "blob", string(l.by[name])+":"+name) + "\n"
		if c.text != nil {
			return c.text(text)
		}
		var d doc
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.change != nil {
			c.change(d)
		}
		return string(plan.Document(d))
	}
	rules := rulesOfFormat(t)
	for _, rule := range rules {
		t.Run(rule, func(t *testing.T) {
			if change := everyRecord[rule]; change != nil {
				for _, dir := range slices.Sorted(maps.Keys(kinds)) {
					refuse(t, kinds[dir], changed(kinds[dir], recordCase{change: change}), recordCase{})
				}
				return
			}
			c, ok := brokenRecords[rule]
			if !ok {
				t.Fatal("no record breaks this rule: add one")
			}
			if _, text, _ := strings.Cut(rule, ": "); c.want == "" {
				c.want = text
			}
			name := l.pathOf(c.path)
			refuse(t, name, changed(name, c), c)
		})
	}
	for rule := range brokenRecords {
		if !slices.Contains(rules, rule) {
			t.Errorf("docs/format/records.md has no rule %q", rule)
		}
	}
}
