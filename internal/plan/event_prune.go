package plan

import (
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/plain"
)

// A prune begins a new history with the tree of the old one's newest commit. It drops the files of versions that no
// review approved and that are not among a task's newest. Everything else stays: artifact.json, reviews and all other
// records. A stub next to artifact.json keeps the tree's id, so that every status, counter and number stays the same.
// The old history, kept as the archive, proves the new one. docs/format.md, section 6, has the rules.

// MayPrune is refused where a newer program's records are in the way.
func (s *State) MayPrune() error { return s.readOnly() }

// Dropped is a version whose files go.
type Dropped struct {
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
	Tree       OID    `json:"tree"`
}

// Dir is the version's directory.
func (d Dropped) Dir() string { return d.TaskID.Dir() + "/artifacts/" + d.ArtifactID }

// PruneDocument is the content of prune.json.
type PruneDocument struct {
	PlanID    ID        `json:"plan_id"`
	Archive   OID       `json:"archive"` // the newest commit of the history before
	Keep      int       `json:"keep"`
	Events    int       `json:"events"` // of the history before
	Dropped   []Dropped `json:"dropped"`
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
}

// Decode reads a prune.json. A document that can't be one fails.
func (d *PruneDocument) Decode(data []byte) error {
	if err := json.Unmarshal(data, d); err != nil {
		return fmt.Errorf("prune.json: %w", err)
	}
	if d.Keep < 1 || !d.PlanID.Valid() || !isID(string(d.Archive)) {
		return errors.New("prune.json names no plan, no archived commit, or keeps nothing")
	}
	return nil
}

// Dropped lists the versions whose files a prune takes, task by task in the plan's order: those that are not among
// the newest keep versions of their task and that no review approved.
func (r Records) Dropped(p *Plan, keep int) []Dropped {
	list := []Dropped{}
	for _, t := range p.Tasks {
		rec := r.Of(t.TaskID)
		for i, a := range rec.Artifacts {
			newest := i >= len(rec.Artifacts)-max(keep, 1)
			approved := func(rev ReviewRecord) bool { return rev.Version == a.Version && rev.Verdict == Approved }
			if newest || slices.Contains(rec.Pruned, a.Version) || slices.ContainsFunc(rec.Reviews, approved) {
				continue
			}
			list = append(list, Dropped{t.TaskID, VersionID(a.Version), a.Files})
		}
	}
	return list
}

const stubPrefix = "pruned-"

// StubName is the name of what a prune leaves in the place of a version's files/, which had the given tree.
func StubName(tree OID) string { return stubPrefix + string(tree) }

// stubTree is the tree that a stub stands for, "" for any other name.
func stubTree(base string) OID {
	id, ok := strings.CutPrefix(base, stubPrefix)
	if !ok || !isID(id) {
		return ""
	}
	return OID(id)
}

func isID(s string) bool { return OID(s).Valid() }

// addStub adds a version whose files are gone. It ignores a stub next to files/, and a second stub: only a forger makes
// them.
func (t *TaskRecords) addStub(version int, tree OID, h half) bool {
	last := len(t.Artifacts) - 1
	if tree == "" || h&halfFiles != 0 || h&halfArtifact == 0 || last >= 0 && t.Artifacts[last].Version == version {
		return false
	}
	t.Pruned = append(t.Pruned, version)
	return appendRecord(&t.Artifacts, ArtifactRecord{Version: version, Files: tree})
}

// PrunedDir is where a plan's tree says what its prunes did; below it each prune has a directory.
const PrunedDir = "pruned"

// Dir is the directory of the document of the nth prune, from 1.
func (d PruneDocument) Dir(n int) string { return fmt.Sprintf("%s/%04d-%s", PrunedDir, n, d.Archive) }

// ParsePruneDir reads the last component of a PruneDocument's directory.
func ParsePruneDir(name string) (n int, archive OID, ok bool) {
	number, id, _ := strings.Cut(name, "-")
	n = atoi(number)
	return n, OID(id), n > 0 && len(number) <= maxDigits && fmt.Sprintf("%04d-%s", n, id) == name && isID(id)
}

// PruneFile is the document in that directory.
const PruneFile = "prune.json"

// Change is the message of a prune's commit. It begins a history and names the archived one.
func (d PruneDocument) Change() Change {
	return Change{
		Subject: fmt.Sprintf("prune: the files of %s go, %s archived", plain.Count(len(d.Dropped), "version"),
			plain.Count(d.Events, "event")),
		Body: "Nothing else is gone. Older events, as long as they are kept: git log workflow-archive/" +
			string(d.PlanID),
		Trailers: []Trailer{
			{"Wf-Event", EventPruned}, {"Wf-Archive", string(d.Archive)}, {"Wf-Keep", strconv.Itoa(d.Keep)},
		},
	}
}

// doctorDir is where a plan's tree says what doctor has put right.
const doctorDir = "doctor"

// Mended is one thing that doctor has put right.
type Mended struct {
	Code   string `json:"code"`
	PlanID ID     `json:"plan_id,omitempty"` // "" for what belongs to no plan
	Place  string `json:"place"`
	Did    string `json:"did"`
}

// Mend records what doctor has put right, in a file below doctor/. It changes no status.
type Mend struct {
	Mended    []Mended  `json:"mended"`
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
}

// name is the record's file name below doctor/: its time, and a part of its hash, so that no two clones give one name
// to two of them.
func (e Mend) name() string {
	return fmt.Sprintf("%s-%x.json", e.CreatedAt.UTC().Format("20060102T150405Z"),
		sha1.Sum(Document(e)))[:len("20060102T150405Z-")+12] + ".json"
}

// Repairs says that a completed plan takes the event.
func (Mend) Repairs() {}

// Apply records it.
func (e Mend) Apply(*State) (Change, error) {
	var body strings.Builder
	for _, m := range e.Mended {
		fmt.Fprintf(&body, "%s %s: %s\n", m.Code, plain.Line(m.Place), plain.Line(m.Did))
	}
	return Change{
		Subject:  fmt.Sprintf("doctor: %s put right", plain.Count(len(e.Mended), "thing")),
		Body:     body.String(),
		Trailers: []Trailer{{"Wf-Event", eventDoctor}},
		Add:      []Entry{{Path: doctorDir + "/" + e.name(), Data: Document(e)}},
	}, nil
}
