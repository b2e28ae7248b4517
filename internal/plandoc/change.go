package plandoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// pathsCriterion is the id of the criterion that every change has: it stays within its paths.
const pathsCriterion = "paths"

// completeChange fills in what a task that changes the repository may leave out: its paths, which are those that its
// context names, and the criterion that it stays within them.
func completeChange(t *plan.Task) {
	s := t.DeliverableSpec
	if !s.Changes() {
		return
	}
	if s.Paths == nil {
		s.Paths = pathsOfContext(t)
	}
	if !slices.ContainsFunc(t.AcceptanceCriteria, ofPaths) && len(t.AcceptanceCriteria) > 0 {
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, plan.Criterion{
			ID: pathsCriterion, CheckMethod: plan.ChangedPaths, Severity: plan.Must,
			Statement: "The change adds, changes and deletes only files that the task's paths name.",
		})
	}
}

func ofPaths(c plan.Criterion) bool { return c.CheckMethod == plan.ChangedPaths }

// pathsOfContext are the paths that a task's context says it is about, or else the files that its flow_control names,
// without the symbols and lines behind them.
func pathsOfContext(t *plan.Task) []string {
	paths := FocusPaths(t)
	if len(paths) == 0 {
		files, _ := texts(t.FlowControl["target_files"])
		for _, f := range files {
			name, _, _ := strings.Cut(f, ":")
			paths = append(paths, name)
		}
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	}
	return slices.Compact(slices.Sorted(slices.Values(paths)))
}

// checkChange checks the deliverable_spec of a task that changes the repository.
func (v *validator) checkChange(i int, s *plan.DeliverableSpec) {
	const at = "deliverable_spec."
	if s.Filename != "" || len(s.Files) > 0 || s.OutputDir != "" || s.SingleFile || s.BundleMode != "" {
		v.add(i, "wrong-field", at+"format", "a change has no files of its own", "paths, and tests if there are any",
			"filename, files, output_dir, single_file or bundle_mode", "deliverable_spec: {format: change, "+
				"paths: [src]}")
	}
	if len(s.Paths) == 0 {
		v.add(i, "no-spec", at+"paths", "the change does not say what it may touch",
			"paths of the repository, or patterns", "nothing", "paths: [src/**]")
	}
	for _, list := range []struct {
		field string
		paths []string
	}{{"paths", s.Paths}, {"tests", s.Tests}} {
		for j, p := range list.paths {
			if rule := badRepoPath(p); rule != "" {
				v.add(i, "bad-path", fmt.Sprintf("%s%s[%d]", at, list.field, j), rule,
					"a path from the root of the repository, or a pattern", plain.Quote(p), list.field+": [src/**]")
			}
		}
	}
	if u := s.Undoes; u != nil &&
		(!u.PlanID.Valid() || !u.TaskID.Valid() || u.Floor < plan.VersionNumber(u.ArtifactID)) {
		v.add(i, "bad-undo", at+"undoes", "names no version that the floor reaches",
			"a plan, a task, a version, and a floor",
			fmt.Sprintf("%s %s %s, floor %d", u.PlanID, u.TaskID, u.ArtifactID, u.Floor),
			"undoes: {plan_id: WFS-shop, task_id: IMPL-1, artifact_id: v1, floor: 1}")
	}
	if t := v.plan.Tasks[i]; len(t.AcceptanceCriteria) > 0 && !slices.ContainsFunc(t.AcceptanceCriteria, ofPaths) {
		v.add(i, "no-criteria", "acceptance_criteria", "nothing holds the change to its paths",
			"a criterion with check_method changed_paths", "none",
			"{id: paths, statement: It stays within its paths., check_method: changed_paths}")
	}
}

// Covers reports whether one of a change's paths names a file. One that names a directory covers all below it.
func Covers(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for p := path; ; {
			if glob.Match(pattern, p) {
				return true
			}
			slash := strings.LastIndexByte(p, '/')
			if slash < 0 {
				return false
			}
			p = p[:slash]
		}
	})
}

// ChangedFile is a file of the repository that a version changes.
type ChangedFile struct {
	Path string
	How  byte // as git diff --name-status says it: A, M or D
}

// ChangedFiles lists the files of the repository that a version changes, by path. The version has them below a and b,
// as they were and as they are.
func ChangedFiles(files []plan.FileInfo) []ChangedFile {
	how := map[string]byte{}
	for _, f := range files {
		side, path, _ := strings.Cut(f.Path, "/")
		switch {
		case how[path] != 0:
			how[path] = 'M'
		case side == "a":
			how[path] = 'D'
		default:
			how[path] = 'A'
		}
	}
	list := make([]ChangedFile, 0, len(how))
	for _, path := range slices.Sorted(maps.Keys(how)) {
		list = append(list, ChangedFile{path, how[path]})
	}
	return list
}

// badRepoPath says what is wrong with a path or pattern of files of the repository; "" if nothing. They are what git
// accepts in a tree, which is more than a document may be called: .github and .gitattributes are as good as others.
func badRepoPath(p string) string {
	const most = 1024
	switch {
	case p == "" || len(p) > most:
		return fmt.Sprintf("must have between 1 and %d bytes", most)
	case badLine(p) != "":
		return badLine(p)
	case strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/"):
		return "must be relative, without a slash at either end"
	}
	for c := range strings.SplitSeq(p, "/") {
		switch {
		case c == "" || c == "." || c == "..":
			return "must not contain an empty component, . or .."
		case strings.EqualFold(c, ".git"):
			return "must not contain .git, which is no part of a tree"
		case c != "**" && strings.Contains(c, "**"):
			return "must have ** alone between slashes"
		}
	}
	if err := glob.Check(p); err != nil {
		return err.Error()
	}
	return ""
}

// OverlappingChanges finds changes of the repository that may touch the same paths and of which neither builds on the
// other: the one that lands second may conflict with the first. That is no error.
func OverlappingChanges(p *plan.Plan) plan.Findings {
	const most = 10 // pairs are named
	s := plan.Derive(p, plan.Records{}, nil, time.Time{})
	var fs plan.Findings
	behind := Behind(len(p.Tasks), func(i int) []int { return each.Of(s.Inputs(p.Tasks[i].TaskID), s.Place) })
	for i, t := range p.Tasks {
		if t.NodeType != plan.Action || !t.Changes() {
			continue
		}
		for j, earlier := range p.Tasks[:i] {
			if earlier.NodeType != plan.Action || !earlier.Changes() || !SameFocus(t, earlier) ||
				behind[i].Bit(j) == 1 || behind[j].Bit(i) == 1 {
				continue
			}
			fs = append(fs, plan.Finding{
				Code: "same-paths", TaskID: t.TaskID, Path: fmt.Sprintf("tasks[%d].deliverable_spec.paths", i),
				Message: fmt.Sprintf("may change the same files as %s, and neither builds on the other: they are "+
					"not done at once, and may conflict when they land", earlier.TaskID),
				Expected: "an order, other paths, or meta: {parallel: true} in both", Found: "neither",
				Example: fmt.Sprintf("depends_on: [%s]", earlier.TaskID),
			})
			if len(fs) == most {
				return fs
			}
		}
	}
	return fs
}
