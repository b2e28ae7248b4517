package audit

import (
	"path"
	"slices"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/secret"
)

// made is the plan under which a record was made: the one after its event, and whose event that was.
type made struct {
	under *rules
	by    string // "" where others speak in the event, which is compared as a whole
}

// rules is a plan.json in the form that records are checked against. Many records share one.
type rules struct {
	plan  *plan.Plan
	state *plan.State // nil until a record asks
}

// remember notes what the records of a commit were made under.
func (a *auditor) remember(s *step, kind string) {
	if a.made == nil {
		a.made = map[string]made{}
	}
	m := made{under: a.chain.rules, by: s.trailers["Wf-Agent"]}
	if kind == plan.EventVerdicts || kind == plan.EventDecision {
		m.by = ""
	}
	for _, c := range s.changes {
		if _, name, ok := plan.SplitPath(c.path); c.status == "A" && (plan.Setting{}).RulesOf(name, ok) != nil {
			a.made[string(c.oid)+c.path] = m
		}
	}
}

// checkDocument says why a document can't be the record that it claims to be; "" if it can. What a prune brought, or
// what lies beyond the end of a shallow clone, is checked against the plan as it is now.
func (a *auditor) checkDocument(d document, data []byte, entries []gitstore.TreeEntry) string {
	if version := d.kind.About(strings.TrimPrefix(d.name, d.kind.Dir+"/")); version > 0 && d.task != "" {
		if _, ok := a.snap.Records.Of(d.task).Version(version); !ok {
			return "" // it is of nothing, which is reported
		}
	}
	in := a.snap.Setting(d.task, d.name)
	if m := a.made[string(d.oid)+d.path()]; m.under != nil {
		if m.under.state == nil {
			m.under.state = plan.Derive(m.under.plan, plan.Records{}, nil, time.Time{})
		}
		in.State, in.Since, in.By = m.under.state, false, m.by
	}
	in.Says = func(name string) any { return a.briefs[d.task.Dir()+"/"+name] }
	in.Files = func(version int) ([]plan.FileInfo, bool) {
		return filesBelow(d.task.Dir()+"/"+plan.ArtifactRecord{Version: version}.FilesPath()+"/", entries),
			!slices.Contains(a.snap.Records.Of(d.task).Pruned, version)
	}
	brief, why := d.kind.Check(data, &in)
	if brief != nil {
		a.briefs[d.path()] = brief
	}
	return why
}

// filesBelow are the files of a tree below a directory. The entries are sorted.
func filesBelow(dir string, entries []gitstore.TreeEntry) (files []plan.FileInfo) {
	first, _ := slices.BinarySearchFunc(entries, dir, func(e gitstore.TreeEntry, dir string) int {
		return strings.Compare(e.Path, dir)
	})
	for _, e := range entries[first:] {
		name, ok := strings.CutPrefix(e.Path, dir)
		if !ok {
			break
		}
		files = append(files, plan.FileInfo{Path: name, Mode: e.Mode, OID: e.OID})
	}
	return files
}

// masks reports whether a change does no more than mask secrets in a record.
func (a *auditor) masks(c change) bool {
	if c.status != "M" || c.mode != "100644" || !secret.MayHoldSecrets(c.path) {
		return false
	}
	was, err := a.store.ReadBlob(a.ctx, c.old)
	if err != nil {
		return false
	}
	is, err := a.store.ReadBlob(a.ctx, c.oid)
	return err == nil && secret.MayMask(c.path, was, is)
}

// secret reports a record of the newest tree that holds a secret.
func (a *auditor) secret(d document, data []byte, mask secret.Mask) {
	masked, ok := mask.Record(d.path(), data)
	if !ok {
		return
	}
	f := a.report("secret", d.path(), "git wf doctor --mask",
		"holds what looks like a key, or the value of a variable of yours that is one")
	if masked == nil {
		f.Mend = ""
		f.Message += "; it can't be masked, for more than a text of " + path.Base(d.name) + " would change"
		return
	}
	f.Masking = &secret.Masking{Path: d.path(), OID: d.oid, Old: slices.Clone(data), New: masked}
}
