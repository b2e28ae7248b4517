package audit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

const otherThanName = "does not say what its name says"

// judge says why a document does not belong where it is; "" if it does. What it says of itself has to be what its name
// and the objects beside it say.
func (a *auditor) judge(d document, data []byte, entries []gitstore.TreeEntry) string {
	if d.kind.Says == nil {
		var any any = new(map[string]any)
		if d.kind.Document != nil {
			any = reflect.New(reflect.TypeOf(d.kind.Document)).Interface()
		}
		if err := json.Unmarshal(data, any); err != nil {
			return "is no such document: " + err.Error()
		}
		return ""
	}
	r := a.snap.Records.Of(d.task)
	if version := d.kind.About(strings.TrimPrefix(d.name, d.kind.Dir+"/")); version > 0 {
		if _, ok := r.Version(version); !ok {
			return "" // it is of nothing, which is reported
		}
	}
	said, err := d.kind.Says(data)
	if err != nil {
		return "is no such document: " + err.Error()
	}
	if !said.NoTask && said.Task != d.task && !(said.OfCheck && a.isCheckOf(said.Task, d.task)) {
		return fmt.Sprintf("speaks of %q, not of %s", string(said.Task), d.task)
	}
	if !said.Fits(d.name) {
		return otherThanName
	}
	version := plan.VersionNumber(said.Version)
	if rec, _ := r.Version(version); said.Version != "" && rec.Files != said.Tree {
		return fmt.Sprintf("speaks of the tree %.12s, but %s has %.12s", said.Tree, said.Version, rec.Files)
	}
	if said.Filed {
		switch tree := a.snap.Document(d.task, strings.TrimSuffix(d.name, ".json")+"/files"); {
		case tree == "":
			return "its file is not there"
		case tree != said.Holds:
			return fmt.Sprintf("speaks of the tree %.12s, but its file is in %.12s", said.Holds, tree)
		}
	}
	for _, name := range said.Beside {
		if a.snap.Document(d.task, name) == "" {
			return fmt.Sprintf("names %s, which is not there", strconv.Quote(name))
		}
	}
	if said.Listed && !slices.Contains(r.Pruned, version) {
		return files(said.Files, d.task.Dir()+"/"+plan.ArtifactRecord{Version: version}.FilesPath()+"/", entries)
	}
	return ""
}

func (a *auditor) isCheckOf(check, task plan.TaskID) bool {
	t := a.tasks.Task(check)
	return check == task.CheckID() || t != nil && t.ReviewTargetTaskID == task
}

// files compares a list of files with those below a directory of the tree.
func files(list []plan.FileInfo, dir string, entries []gitstore.TreeEntry) string {
	first, _ := slices.BinarySearchFunc(entries, dir, func(e gitstore.TreeEntry, dir string) int {
		return strings.Compare(e.Path, dir)
	})
	here := map[string]gitstore.TreeEntry{}
	for _, e := range entries[first:] {
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
		return fmt.Sprintf("lists %s, and files/ has %d", plain.Count(len(list), "file"), len(here))
	}
	return ""
}
