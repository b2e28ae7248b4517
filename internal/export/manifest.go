package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gitwf/internal/plan"
)

// FormatVersion is the version of manifest.json that this package writes.
const FormatVersion = 1

// ManifestName is the name of the manifest in its bundle.
const ManifestName = "manifest.json"

// AttributesName and Attributes keep git from changing a bundle's blobs on their way in or out, whatever the
// repository's own attributes say: the gate compares object ids.
const (
	AttributesName = ".gitattributes"
	Attributes     = "* -text -filter -ident -eol -working-tree-encoding\n"
)

// Manifest is the content of manifest.json (seed 2, section 3.2).
type Manifest struct {
	FormatVersion int             `json:"format_version"`
	PlanID        plan.ID         `json:"plan_id"`
	Title         string          `json:"title"`
	PlanCommit    plan.OID        `json:"plan_commit"` // from which the bundle can be made again
	ExportedAt    time.Time       `json:"exported_at"` // the time of that commit, so that a second export changes nothing
	Mode          string          `json:"mode"`        // PASS_THROUGH or ASSEMBLE
	Complete      bool            `json:"complete"`
	Options       Options         `json:"options"`
	Signatures    string          `json:"signatures"`               // "signed", or "unsigned": the approvals prove consistency, not identity
	PolicyCommit  plan.OID        `json:"policy_commit,omitempty"`  // the policy whose keys prove the approvals, if they are signed
	WaiversCommit plan.OID        `json:"waivers_commit,omitempty"` // of the policy, as of which Waivers are listed
	RootCriteria  []RootCriterion `json:"root_criteria"`
	Items         []Item          `json:"items"`
	Files         []File          `json:"files"`             // the bundle's own, such as .gitattributes
	Waivers       []plan.Waiver   `json:"waivers,omitempty"` // of paths in the bundle: other content than it lists may stand there
}

// Tasks are the tasks that the manifest has items of.
func (m Manifest) Tasks() []plan.TaskID {
	var ids []plan.TaskID
	for _, i := range m.Items {
		ids = append(ids, i.TaskID)
	}
	return ids
}

// Options are the choices that change what a bundle holds.
type Options struct {
	Partial           bool `json:"partial"`            // export what is approved of an unfinished plan
	AllowStale        bool `json:"allow_stale"`        // export what was approved by other inputs or criteria
	FinalOnly         bool `json:"final_only"`         // of an assembled plan, the assembled deliverable alone
	IncludeCandidates bool `json:"include_candidates"` // for a look; the gate refuses such a bundle
}

// Item is one task's part of the bundle.
type Item struct {
	TaskID             plan.TaskID    `json:"task_id"`
	TaskTitle          string         `json:"task_title"`
	Final              bool           `json:"final"` // the assembled deliverable
	DeliverableSpec    SpecSummary    `json:"deliverable_spec"`
	ApprovedArtifactID string         `json:"approved_artifact_id,omitempty"`
	CandidateID        string         `json:"candidate_artifact_id,omitempty"` // not approved
	Tree               plan.OID       `json:"tree"`
	Stale              string         `json:"stale,omitempty"` // why
	Files              []File         `json:"files"`
	Review             *ReviewSummary `json:"review,omitempty"`
	Approvals          []Approval     `json:"approvals,omitempty"` // that count, if they are signed
}

// Version is the id of the version that the item holds.
func (i Item) Version() string {
	if i.CandidateID != "" {
		return i.CandidateID
	}
	return i.ApprovedArtifactID
}

// SpecSummary is what a reader of the manifest needs of the deliverable_spec.
type SpecSummary struct {
	Format     string   `json:"format"`
	Filename   string   `json:"filename,omitempty"`
	Files      []string `json:"files,omitempty"`
	SingleFile bool     `json:"single_file"`
	BundleMode string   `json:"bundle_mode,omitempty"`
}

// File is one file of a bundle: where it is, where it came from, and what it must be.
type File struct {
	DestPath   string   `json:"dest_path"`             // in the bundle
	SourcePath string   `json:"source_path,omitempty"` // in the tree of plan_commit
	Mode       string   `json:"mode"`
	OID        plan.OID `json:"oid"`
	SHA256     string   `json:"sha256"`
	Size       int64    `json:"size"`
}

// ReviewSummary names the review that lets the item land.
type ReviewSummary struct {
	CheckTaskID        plan.TaskID  `json:"check_task_id"`
	ReviewID           string       `json:"review_id"`
	ReviewedArtifactID string       `json:"reviewed_artifact_id"`
	Verdict            plan.Verdict `json:"verdict"`
	Score              int          `json:"score"`
	Reviewer           string       `json:"reviewer"`
	SelfReviewed       bool         `json:"self_reviewed,omitempty"`

	Waived []WaivedCriterion `json:"waived_criteria,omitempty"`
}

// encode is the canonical form of a manifest.
func (m Manifest) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return b.Bytes(), nil
}

// ParseManifest reads a manifest.json. One of a later format, or with fields that this one does not know, is refused:
// what can't be understood can't be judged.
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	if m.FormatVersion != FormatVersion {
		return Manifest{}, fmt.Errorf("manifest has format_version %d; this git-wf knows %d", m.FormatVersion, FormatVersion)
	}
	return m, nil
}

// ParseHead reads what a manifest of the canonical form says before its lists: from what, and how, the bundle was made. It
// leaves unsaid whether the rest can be read at all.
func ParseHead(data []byte) (Manifest, error) {
	// No string has a newline in it, and what is further inside has more spaces before it.
	head, _, ok := bytes.Cut(data, []byte(",\n  \"root_criteria\": "))
	if !ok {
		return Manifest{}, errors.New("read manifest: not of the canonical form")
	}
	return ParseManifest(append(head[:len(head):len(head)], '}'))
}
