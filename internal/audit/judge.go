package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// judge compares one document with its place. Each method says why they differ, "" if they do not.
type judge struct {
	a       *auditor
	d       document
	r       *plan.TaskRecords
	name    string // of the file, without its ending
	entries []gitstore.TreeEntry
}

const otherThanName = "does not say what its name says"

// of reports whether an id is a version of the task that has the tree.
func (j judge) of(task plan.TaskID, version string, tree plan.OID) string {
	v, ok := j.r.Version(plan.VersionNumber(version))
	switch {
	case task != j.d.task:
		return fmt.Sprintf("speaks of %q, not of %s", string(task), j.d.task)
	case !ok:
		return fmt.Sprintf("speaks of %q, which %s does not have", version, j.d.task)
	case v.Files != tree:
		return fmt.Sprintf("speaks of the tree %.12s, but %s has %.12s", tree, version, v.Files)
	}
	return ""
}

func (j judge) artifact(data []byte) string {
	var doc plan.Artifact
	if why := decode(data, &doc); why != "" {
		return why
	}
	version := strings.Split(j.d.name, "/")[1]
	if why := j.of(doc.TaskID, doc.ArtifactID, doc.Tree); why != "" {
		return why
	}
	if doc.ArtifactID != version {
		return otherThanName
	}
	if slices.Contains(j.r.Pruned, plan.VersionNumber(version)) {
		return ""
	}
	return j.files(doc.Files, j.d.task.Dir()+"/artifacts/"+version+"/files/")
}

// files compares a list of files with those below a directory of the tree.
func (j judge) files(list []plan.FileInfo, dir string) string {
	first, _ := slices.BinarySearchFunc(j.entries, dir, func(e gitstore.TreeEntry, dir string) int { return strings.Compare(e.Path, dir) })
	here := map[string]gitstore.TreeEntry{}
	for _, e := range j.entries[first:] {
		name, ok := strings.CutPrefix(e.Path, dir)
		if !ok {
			break
		}
		here[name] = e
	}
	for _, f := range list {
		if e, ok := here[f.Path]; !ok || e.OID != f.OID || e.Mode != f.Mode {
			return fmt.Sprintf("lists %s, which files/ does not have so", strconv.Quote(f.Path))
		}
	}
	if len(list) != len(here) {
		return fmt.Sprintf("lists %s, and files/ has %d", plan.Count(len(list), "file"), len(here))
	}
	return ""
}

func (j judge) review(data []byte) string {
	var doc plan.Review
	if why := decode(data, &doc); why != "" {
		return why
	}
	dir := strings.Split(j.d.name, "/")[1]
	i := slices.IndexFunc(j.r.Reviews, func(r plan.ReviewRecord) bool { return r.Dir() == dir })
	if i < 0 {
		return "" // its name is foreign, which is reported
	}
	rec := j.r.Reviews[i]
	if _, ok := j.r.Version(rec.Version); !ok {
		return "" // it is of nothing, which is reported
	}
	if why := j.of(doc.TaskID, doc.ReviewedArtifactID, doc.Tree); why != "" {
		return why
	}
	if doc.Verdict != rec.Verdict || doc.Score != rec.Score || doc.ReviewedArtifactID != plan.VersionID(rec.Version) ||
		plan.EscapeName(doc.Reviewer) != rec.Reviewer || doc.ReviewID != "r"+strconv.Itoa(rec.N) {
		return otherThanName
	}
	return ""
}

func (j judge) check(data []byte) string {
	var doc plan.Checked
	if why := decode(data, &doc); why != "" {
		return why
	}
	if doc.CheckID+"-"+doc.ReviewedArtifactID != j.name {
		return otherThanName
	}
	if _, ok := j.r.Version(plan.VersionNumber(doc.ReviewedArtifactID)); !ok {
		return "" // it is of nothing, which is reported
	}
	return j.of(doc.TaskID, doc.ReviewedArtifactID, doc.Tree)
}

func (j judge) attempt(data []byte) string {
	var doc plan.Attempt
	if why := decode(data, &doc); why != "" {
		return why
	}
	if n, _, _ := strings.Cut(j.name, "-"); doc.AttemptID != n || !strings.HasSuffix(j.name, "-"+doc.Kind) {
		return otherThanName
	}
	t := j.a.tasks.Task(doc.TaskID)
	if doc.TaskID != j.d.task && doc.TaskID != j.d.task.CheckID() && (t == nil || t.ReviewTargetTaskID != j.d.task) {
		return fmt.Sprintf("speaks of %q, not of %s", string(doc.TaskID), j.d.task)
	}
	return ""
}

func (j judge) question(data []byte) string {
	var doc plan.Question
	if why := decode(data, &doc); why != "" {
		return why
	}
	if doc.QuestionID != j.name || doc.TaskID != j.d.task {
		return otherThanName
	}
	return ""
}

func (j judge) answer(data []byte) string {
	var doc plan.Answer
	if why := decode(data, &doc); why != "" {
		return why
	}
	if doc.QuestionID != j.name || doc.TaskID != j.d.task {
		return otherThanName
	}
	for _, in := range doc.Inputs {
		if j.a.snap.Document(j.d.task, "inputs/"+in+".json") == "" {
			return fmt.Sprintf("names the input %s, which is not there", strconv.Quote(in))
		}
	}
	return ""
}

func (j judge) input(data []byte) string {
	var doc plan.InputDocument
	if why := decode(data, &doc); why != "" {
		return why
	}
	at := strings.TrimSuffix(j.d.name, ".json")
	name, _, _ := strings.Cut(strings.TrimPrefix(at, "inputs/"), "/")
	tree := j.a.snap.Document(j.d.task, at+"/files")
	switch {
	case plan.EscapeName(doc.Name) != name:
		return otherThanName
	case tree == "":
		return "its file is not there"
	case tree != doc.Tree:
		return fmt.Sprintf("speaks of the tree %.12s, but its file is in %.12s", doc.Tree, tree)
	}
	return ""
}

func (j judge) waiver(data []byte) string {
	var doc plan.WaiverDocument
	if why := decode(data, &doc); why != "" {
		return why
	}
	i := slices.IndexFunc(j.r.Waivers, func(w plan.WaiverRecord) bool { return w.Name() == j.name+".json" })
	if i < 0 {
		return "" // its name is foreign, which is reported
	}
	w := j.r.Waivers[i]
	if doc.ArtifactID != plan.VersionID(w.Version) || plan.EscapeName(doc.Criterion) != w.Criterion {
		return otherThanName
	}
	if _, ok := j.r.Version(w.Version); !ok {
		return "" // it is of nothing, which is reported
	}
	return j.of(doc.TaskID, doc.ArtifactID, doc.Tree)
}
