package audit

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"sort"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/secret"
)

// records checks those of the snapshot's records that are among the entries.
func (a *auditor) records(entries []gitstore.TreeEntry) error {
	a.progress("%s: looking at its records", a.id)
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].Path < entries[j].Path })
	a.tasks = a.snap.Plan.Index()
	touched := map[plan.TaskID]bool{}
	for _, e := range entries {
		task, name, ok := plan.SplitPath(e.Path)
		if !ok {
			continue
		}
		if !touched[task] {
			touched[task] = true
			a.checkNames(task)
		}
		a.checkVersion(task, name)
	}
	docs, err := a.withoutTooLarge(a.withReferred(a.documents(entries)))
	if err != nil {
		return err
	}
	if err := a.readDocuments(docs, entries); err != nil {
		return err
	}
	a.reportMisplaced(entries)
	a.checkModes(entries)
	return nil
}

// bindings checks plan.json itself, and reports whether it is a plan that can be carried out.
func (a *auditor) bindings() (sound bool) {
	p := a.snap.Plan
	found := plandoc.Validate(p, policy.Floors{})
	for _, f := range found {
		a.report("bad-plan", planFile, a.goBackTo(planFile), "%v", f)
	}
	if p.PlanID != a.id {
		a.report("wrong-plan", planFile, a.goBackTo(planFile), "is the plan %s, under the ref of %s", p.PlanID, a.id)
	}
	return len(found) == 0
}

// floors reports where a plan demands less than the policy. No event is at fault: the policy may have
// changed since, and the gate checks what lands against the policy of its time.
func (a *auditor) floors() {
	p := a.snap.Plan
	if len(p.Grafts) == 0 || reflect.ValueOf(a.options.Floors).IsZero() { // nothing is demanded, and the plan is sound
		return
	}
	for _, f := range plandoc.Validate(p, a.options.Floors) {
		t := p.Task(f.TaskID)
		if t != nil && t.NodeType == plan.Check {
			t = p.Task(t.ReviewTargetTaskID)
		}
		planning := t != nil && t.Planning() // the policy's floors are for deliverables
		if !planning {
			a.report("below-policy", planFile,
				"git wf plan -f FILE, with a plan that is strict enough; or git wf policy set, by a "+
					"maintainer", "%v", f)
		}
	}
}

// checkNames checks what the names of a task's records say about each other.
func (a *auditor) checkNames(task plan.TaskID) {
	dir := task.Dir()
	r := a.snap.Records.Of(task)
	for _, name := range r.Newer {
		a.reportNewer(dir + "/" + name)
	}
	for _, name := range r.Foreign {
		a.report("foreign", dir+"/"+name, a.goBackTo(dir+"/"+name), "no record has this name; it counts for nothing")
	}
	for i, rec := range r.Artifacts {
		if rec.Version != i+1 {
			a.report("version-gap", dir+"/artifacts", a.goBackTo(dir+"/artifacts/"+plan.VersionID(rec.Version)),
				"%s follows version %d", plan.VersionID(rec.Version), i)
		}
	}
	for _, n := range r.Answers {
		if !slices.Contains(r.Questions, n) {
			name := dir + "/" + r.AnswerPath(n)
			a.report("answer-of-nothing", name, a.goBackTo(name), "%s asked no such question", task)
		}
	}
}

// checkVersion reports a record about a version that does not exist.
func (a *auditor) checkVersion(task plan.TaskID, name string) {
	dir, rest, _ := strings.Cut(name, "/")
	k, r := plan.KindOf(dir, false), a.snap.Records.Of(task)
	if k == nil || path.Ext(name) != ".json" || slices.Contains(r.Foreign, name) {
		return
	}
	version := k.About(rest)
	if _, ok := r.Version(version); version == 0 || ok {
		return
	}
	place := recordOf(task.Dir() + "/" + name)
	a.report(strings.TrimSuffix(dir, "s")+"-of-nothing", place, a.goBackTo(place), "%s has no such version", task)
}

// recordOf is the directory of a record that has one to itself, and the path of any other record.
func recordOf(name string) string {
	_, rest, ok := plan.SplitPath(name)
	if dir, _, _ := strings.Cut(rest, "/"); ok && plan.KindOf(dir, false).DocumentOf(rest) == rest {
		return path.Dir(name)
	}
	return name
}

// document is one record whose content is looked at: where it is, and the object that holds it.
type document struct {
	task  plan.TaskID // "" for one of the plan
	name  string      // below the task's directory
	oid   plan.OID
	kind  *plan.RecordKind // whose rules it keeps; nil where there are none
	known bool             // it was looked at when it came; others are held against it
	texts bool             // it may hold secrets, which are looked for
}

func (d document) path() string {
	if d.task == "" {
		return d.name
	}
	return d.task.Dir() + "/" + d.name
}

// documents lists the records whose content is looked at.
func (a *auditor) documents(entries []gitstore.TreeEntry) []document {
	var docs []document
	for _, e := range entries {
		task, name, ok := plan.SplitPath(e.Path)
		if !strings.HasPrefix(e.Mode, "100") {
			continue
		}
		if !ok {
			task, name = "", e.Path
		}
		d := document{task: task, name: name, oid: e.OID, kind: (plan.Setting{}).RulesOf(name, ok)}
		if slices.Contains(a.snap.Records.Of(task).Foreign, name) {
			d.kind = nil
		}
		d.texts = a.options.Secrets != nil && e.Mode == "100644" && secret.MayHoldSecrets(e.Path)
		if d.kind != nil || d.texts {
			docs = append(docs, d)
		}
	}
	return docs
}

// withReferred adds, in front of the documents, those that they are checked against.
func (a *auditor) withReferred(docs []document) []document {
	a.briefs = map[string]any{}
	there := each.Set(docs, document.path)
	for _, d := range docs {
		if d.kind == nil || d.task == "" {
			continue
		}
		name := d.kind.Refers(strings.TrimPrefix(d.name, d.kind.Dir+"/"))
		of := document{task: d.task, name: name, kind: (plan.Setting{}).RulesOf(name, true), known: true}
		if oid := a.snap.Document(d.task, name); oid != "" && !there[of.path()] {
			of.oid, there[of.path()] = oid, true
			docs = append(docs, of)
		}
	}
	each.Sort(docs, func(x, y document) int { return x.rank() - y.rank() })
	return docs
}

// rank orders documents so that those that others are checked against come first.
func (d document) rank() int {
	if d.kind != nil && (d.kind.Dir == "artifacts" || d.kind.Dir == "questions") {
		return 0
	}
	return 1
}

// mostDocument bounds a record, in bytes. The longest evidence is far below.
const mostDocument = 32 << 20

// withoutTooLarge finds the documents that are too large to be read, and leaves them out.
func (a *auditor) withoutTooLarge(docs []document) ([]document, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	oids := each.Of(docs, func(d document) plan.OID { return d.oid })
	sizes, err := a.store.Sizes(a.ctx, oids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(docs, func(d document) bool {
		if sizes[d.oid] <= mostDocument {
			return false
		}
		a.report("too-large", d.path(), a.goBackTo(d.path()), "has %d bytes, and no record has more than %d",
			sizes[d.oid], mostDocument)
		return true
	}), nil
}

// readDocuments reads all documents with one request. It compares each with its place, and looks for secrets.
func (a *auditor) readDocuments(docs []document, entries []gitstore.TreeEntry) error {
	at := map[plan.OID][]document{}
	oids := make([]plan.OID, 0, len(docs))
	for _, d := range docs {
		if at[d.oid] == nil {
			oids = append(oids, d.oid)
		}
		at[d.oid] = append(at[d.oid], d)
	}
	whys := make(map[document]string)
	var mask secret.Mask
	if a.options.Secrets != nil {
		mask = a.options.Secrets()
	}
	err := a.store.ReadDocuments(a.ctx, a.snap, oids, func(oid plan.OID, data []byte) {
		for _, d := range at[oid] {
			if d.kind != nil {
				if why := a.checkDocument(d, data, entries); why != "" && !d.known {
					whys[d] = why
				}
			}
			if d.texts {
				a.secret(d, data, mask)
			}
		}
	})
	if err != nil {
		return fmt.Errorf("read the records of %s: %w", a.id, err)
	}
	for _, d := range docs {
		if whys[d] != "" {
			a.reportMisfit(d, whys[d])
		}
	}
	return nil
}

// reportMisfit reports a document that does not fit its place.
func (a *auditor) reportMisfit(d document, why string) {
	code, place := cmp.Or(d.kind.Finds, "bad-record"), recordOf(d.path())
	if d.kind.Dir == "artifacts" {
		place = d.task.Dir()
	}
	a.report(code, place, a.goBackTo(recordOf(d.path())), "%s: %s", d.name, why)
}

// reportNewer finds a record of a kind that this program does not know.
func (a *auditor) reportNewer(path string) {
	a.report(Newer, path, fault.UpgradeHint,
		"a record of a kind that this git wf does not know: a newer one wrote it; it is kept, and has no effect here")
}

// reportMisplaced reports what is in the plan's tree where no record can be.
func (a *auditor) reportMisplaced(entries []gitstore.TreeEntry) {
	seen := map[string]bool{}
	for _, e := range entries {
		place, known := placeOf(e.Path)
		if known || seen[place] {
			continue
		}
		if plan.WrittenByNewer(e.Path) {
			a.reportNewer(e.Path)
			continue
		}
		seen[place] = true
		a.report("foreign", place, a.goBackTo(place), "no record belongs here; it counts for nothing")
	}
}

// changesRepository reports whether a record is of a task whose changes may have submodules.
func (a *auditor) changesRepository(path string) bool {
	task, _, _ := plan.SplitPath(path)
	t := a.tasks.Task(task)
	return t != nil && t.Changes()
}

// checkModes reports records that are links, programs or repositories, and paths that a tree has twice.
func (a *auditor) checkModes(entries []gitstore.TreeEntry) {
	for i, e := range entries {
		if _, known := placeOf(e.Path); !known {
			continue
		}
		deliverable := strings.Contains(e.Path, "/files/")
		fine := e.Mode == "100644" || deliverable && (e.Mode == "100755" || e.Mode == "120000" || e.Mode == "160000" &&
			a.changesRepository(e.Path))
		if !fine {
			a.report("bad-mode", e.Path, a.goBackTo(e.Path),
				"has the mode %s; a record is a plain file, 100644", e.Mode)
		}
		if i > 0 && entries[i-1].Path == e.Path {
			a.report("twice", e.Path, a.goBackTo(e.Path), "is in the tree twice, and programs differ in "+
				"which one they take")
		}
	}
}
