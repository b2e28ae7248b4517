package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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
	var ids []plan.TaskID
	for _, i := range m.Items {
		ids = append(ids, i.TaskID)
	}
	return ids
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
