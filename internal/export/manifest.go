package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// formatVersion is the version of manifest.json that this package writes.
const formatVersion = 1

// ManifestName is the name of the manifest in its bundle.
const ManifestName = "manifest.json"

// attributesName and attributes keep git from converting a bundle's blobs on checkout or add, whatever the repository's
// own attributes say: the gate compares object ids.
const (
	attributesName = ".gitattributes"
	attributes     = "* -text -filter -ident -eol -working-tree-encoding\n"
)

// Manifest is the content of manifest.json.
type Manifest struct {
	FormatVersion int       `json:"format_version"`
	PlanID        plan.ID   `json:"plan_id"`
	Title         string    `json:"title"`
	PlanCommit    plan.OID  `json:"plan_commit"` // the bundle can be built again from it
	ExportedAt    time.Time `json:"exported_at"` // that commit's time, so a second export changes nothing
	Mode          string    `json:"mode"`        // PASS_THROUGH or ASSEMBLE
	Complete      bool      `json:"complete"`
	Options       Options   `json:"options"`
	// "signed", or "unsigned": such approvals prove consistency, not identity
	Signatures    string          `json:"signatures"`
	PolicyCommit  plan.OID        `json:"policy_commit,omitempty"`  // its keys prove the approvals, if they are signed
	WaiversCommit plan.OID        `json:"waivers_commit,omitempty"` // the policy commit as of which Waivers are listed
	RootCriteria  []RootCriterion `json:"root_criteria"`
	Items         []Item          `json:"items"`
	Files         []File          `json:"files"` // the bundle's own, such as .gitattributes
	// Of paths in the bundle, which may have other content than it lists
	Waivers []policy.Waiver `json:"waivers,omitempty"`
}

// Tasks returns the tasks that have items in the manifest.
func (m Manifest) Tasks() []plan.TaskID {
	return each.Of(m.Items, func(i Item) plan.TaskID { return i.TaskID })
}

// Options are the choices that change what a bundle holds.
type Options struct {
	Partial           bool `json:"partial"`            // export what is approved in an unfinished plan
	AllowStale        bool `json:"allow_stale"`        // export what was approved with other inputs or criteria
	FinalOnly         bool `json:"final_only"`         // export only the assembled deliverable of an assembled plan
	IncludeCandidates bool `json:"include_candidates"` // for a preview; the gate refuses such a bundle
}

// Item is one task's part of the bundle.
type Item struct {
	TaskID             plan.TaskID    `json:"task_id"`
	TaskTitle          string         `json:"task_title"`
	Final              bool           `json:"final"` // the assembled deliverable
	DeliverableSpec    specSummary    `json:"deliverable_spec"`
	ApprovedArtifactID string         `json:"approved_artifact_id,omitempty"`
	CandidateID        string         `json:"candidate_artifact_id,omitempty"` // not approved
	Tree               plan.OID       `json:"tree"`
	Stale              string         `json:"stale,omitempty"`   // why
	Warning            string         `json:"warning,omitempty"` // accepted or concerns: what the approval lacks
	Files              []File         `json:"files"`
	Review             *reviewSummary `json:"review,omitempty"`
	Approvals          []Approval     `json:"approvals,omitempty"` // those that count, if signed

	otherCriteria bool // than those that it was approved by
}

// Version returns the id of the version that the item holds.
func (i Item) Version() string {
	if i.CandidateID != "" {
		return i.CandidateID
	}
	return i.ApprovedArtifactID
}

// specSummary is what a reader of the manifest needs from the deliverable_spec.
type specSummary struct {
	Format     string   `json:"format"`
	Filename   string   `json:"filename,omitempty"`
	Files      []string `json:"files,omitempty"`
	SingleFile bool     `json:"single_file"`
	BundleMode string   `json:"bundle_mode,omitempty"`
}

// File is one file of a bundle: its path, its source, and its required content.
type File struct {
	DestPath   string   `json:"dest_path"`             // in the bundle
	SourcePath string   `json:"source_path,omitempty"` // in the tree of plan_commit
	Mode       string   `json:"mode"`
	OID        plan.OID `json:"oid"`
	SHA256     string   `json:"sha256"`
	Size       int64    `json:"size"`
}

// reviewSummary names the review that lets the item land.
type reviewSummary struct {
	CheckTaskID        plan.TaskID  `json:"check_task_id"`
	ReviewID           string       `json:"review_id"`
	ReviewedArtifactID string       `json:"reviewed_artifact_id"`
	Verdict            plan.Verdict `json:"verdict"`
	Score              int          `json:"score"`
	Reviewer           string       `json:"reviewer"`
	Agent              string       `json:"agent,omitempty"` // who spoke, where the reviewer is a role
	SelfReviewed       bool         `json:"self_reviewed,omitempty"`

	Waived []waivedCriterion `json:"waived_criteria,omitempty"`
}

// ParseManifest reads a manifest.json. It refuses a later format or unknown fields: nobody can judge what he can't
// understand.
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	if m.FormatVersion != formatVersion {
		return Manifest{}, fmt.Errorf("manifest has format_version %d; this git-wf knows %d", m.FormatVersion,
			formatVersion)
	}
	return m, nil
}

// ParseHead reads the part of a canonical manifest before its lists: which commit and options the bundle was built
// from. It does not check whether the rest can be read.
func ParseHead(data []byte) (Manifest, error) {
	// No string contains a newline, and deeper levels are indented more.
	head, _, ok := bytes.Cut(data, []byte(",\n  \"root_criteria\": "))
	if !ok {
		return Manifest{}, errors.New("read manifest: not of the canonical form")
	}
	return ParseManifest(append(head[:len(head):len(head)], '}'))
}

// RootCriterion is an item of the top task's checklist and what meets it. If only a waiver covers it, it is not met but
// waived.
type RootCriterion struct {
	ID        string   `json:"id"`
	Statement string   `json:"statement"`
	Met       bool     `json:"met"`
	MetBy     []string `json:"met_by"`              // such as "IMPL-1 v2 A1", or "IMPL-1 v2" for the whole task
	WaivedBy  []string `json:"waived_by,omitempty"` // waived criteria of approved versions that cover it
}

// Waived reports whether the criterion is not met and a person's waiver covers it.
func (c RootCriterion) Waived() bool { return !c.Met && len(c.WaivedBy) > 0 }

// Checklist says which root criteria the tasks meet: those that an approved version covers as a whole or by a criterion
// that it passed. An approval implies that each MUST criterion passed or was waived; only for a SHOULD does Checklist
// read the review. A version with a waived criterion meets nothing as a whole.
func (s *Shelf) Checklist(ctx context.Context, snap *gitstore.Snapshot, state *plan.State,
	tasks []plan.TaskID) ([]RootCriterion, error) {
	list := []RootCriterion{}
	root := state.Root()
	at := map[string]int{}
	for i, c := range root.RootAcceptanceCriteria {
		list = append(list, RootCriterion{ID: c.ID, Statement: c.Statement, MetBy: []string{}})
		at[c.ID] = i
	}
	cover := func(ids []string, by string, waived bool) {
		for _, id := range ids {
			i, ok := at[id]
			switch {
			case !ok:
			case waived:
				list[i].WaivedBy = append(list[i].WaivedBy, by)
			default:
				list[i].Met, list[i].MetBy = true, append(list[i].MetBy, by)
			}
		}
	}
	for _, id := range tasks {
		t := state.Tasks[id]
		if t.Approved == 0 {
			continue
		}
		waived := state.Records.Of(id).WaivedCriteria(t.Approved)
		by := string(id) + " " + plan.VersionID(t.Approved)
		cover(t.Covers, by, len(waived) > 0)
		for _, c := range t.AcceptanceCriteria {
			if len(c.Covers) == 0 {
				continue
			}
			result := plan.ResultPass
			if slices.Contains(waived, c.ID) {
				result = plan.ResultWaived
			} else if c.Severity != plan.Must {
				rev, err := s.approval(ctx, snap, id, t.Approved)
				if err != nil {
					return nil, err
				}
				if i := slices.IndexFunc(rev.Criteria,
					func(r plan.CriterionResult) bool { return r.ID == c.ID }); i >= 0 {
					result = rev.Criteria[i].Result
				} else {
					result = plan.ResultNotJudged
				}
			}
			if result == plan.ResultPass || result == plan.ResultWaived {
				cover(c.Covers, by+" "+c.ID, result == plan.ResultWaived)
			}
		}
	}
	return list, nil
}

// waivedCriterion is a criterion that failed and that a person waived.
type waivedCriterion struct {
	ID     string `json:"id"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func waivedCriteria(r plan.Review) []waivedCriterion {
	return each.Pick(r.Criteria, func(c plan.CriterionResult) (waivedCriterion, bool) {
		return waivedCriterion{c.ID, c.By, c.Evidence}, c.Result == plan.ResultWaived
	})
}

// InBundle reports whether a path belongs to the bundle of a plan.
func InBundle(path string, id plan.ID) bool {
	return strings.Contains("/"+path, "/"+string(id)+"/bundle/")
}

// WithWaivers returns the bundle with the waivers of its paths in the manifest, as a commit of the policy holds them;
// without waivers it names no commit. The bundle's files stay what was approved: a waiver covers other content.
func WithWaivers(b *Bundle, p *gitstore.Policy, commit plan.OID) *Bundle {
	m := b.Manifest
	m.WaiversCommit, m.Waivers = "", nil
	for _, w := range p.Waivers {
		if InBundle(w.Path, m.PlanID) { // below any root
			m.Waivers = append(m.Waivers, w)
		}
	}
	if len(m.Waivers) > 0 {
		m.WaiversCommit = commit
	}
	return assemble(m)
}

// Stale finds the tasks whose approved version was made from something no longer approved, and says why. Of a version
// whose names do not say what it was made from it reads the document, if an input has more than one version: no other
// can be stale.
func Stale(ctx context.Context, store reader, snap *gitstore.Snapshot, s *plan.State) (map[plan.TaskID]string, error) {
	stale, renewed := map[plan.TaskID]string{}, map[plan.TaskID]bool{}
	for _, t := range s.Tasks {
		if t.NodeType == plan.Action && t.Active > 1 {
			for _, id := range s.Lineage(t.Task) { // a GOAL stands for all of its leaves
				renewed[id] = true
			}
		}
	}
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		if why, known := s.Stale(id); known {
			if why != "" {
				stale[id] = why
			}
			continue
		}
		if t.Approved == 0 || !slices.ContainsFunc(t.DependsOn, func(d plan.TaskID) bool { return renewed[d] }) {
			continue
		}
		a, err := ReadArtifact(ctx, store, snap, id, t.Approved)
		if err != nil {
			return nil, err
		}
		if why := staleReason(snap, s, a); why != "" {
			stale[id] = why
		}
	}
	return stale, nil
}

// staleReason says why a version's inputs are no longer what the plan has approved, "" if they are.
func staleReason(snap *gitstore.Snapshot, s *plan.State, a plan.Artifact) string {
	for _, in := range a.Inputs {
		now := s.Tasks[in.TaskID]
		if now == nil {
			return fmt.Sprintf("its input %s is gone", in.TaskID)
		}
		if v, ok := snap.Records.Of(in.TaskID).Version(now.Approved); !ok || v.Files != in.Tree {
			if s.Holds(a, in.TaskID) {
				continue
			}
			return fmt.Sprintf("made from %s %s, approved is %s", in.TaskID, in.ArtifactID,
				cmp.Or(plan.VersionID(now.Approved), "none"))
		}
	}
	return ""
}
