package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plain"
)

// Landing is the content of landings/lN-vM-KIND.json: how a version that changes the repository came to a branch, or
// why it did not. It proves nothing: what is on a branch, the branch says.
type Landing struct {
	TaskID     TaskID            `json:"task_id"`
	LandingID  string            `json:"landing_id"`
	ArtifactID string            `json:"artifact_id"`
	Tree       OID               `json:"tree"`             // the version's identity
	Branch     string            `json:"branch"`           // without refs/heads/
	On         OID               `json:"on"`               // the branch's tip, to which the change was applied
	Commit     OID               `json:"commit,omitempty"` // that landed
	Reason     string            `json:"reason,omitempty"` // why nothing landed
	Conflicts  []string          `json:"conflicts,omitempty"`
	Flaky      bool              `json:"flaky,omitempty"`    // a criterion failed once and passed once
	Criteria   []CriterionResult `json:"criteria,omitempty"` // what was run on the result

	// Of a version that is proposed to others, who merge it.
	Head      OID       `json:"head,omitempty"`  // the tip of its own branch
	Base      string    `json:"base,omitempty"`  // that it is to go to: Branch, or the one of what it builds on
	URL       string    `json:"url,omitempty"`   // of its pull request
	State     string    `json:"state,omitempty"` // why a person is asked, one of proposalStates; "" while others decide
	Seen      OID       `json:"seen,omitempty"`  // the commit that this is about
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
}

// proposalStates say why a person is asked about a proposed version, and what they can do: BASE, TASK and SEEN stand
// for what is meant.
var proposalStates = map[string][2]string{
	"closed": {"its pull request was closed", "git wf land --pr TASK proposes it again; git wf rerun TASK -m WHY has " +
		"another version made"},
	"gone": {"its branch is gone from the remote", "git wf land --pr TASK pushes it again"},
	"pushed": {"somebody pushed SEEN to its branch", "git wf rerun TASK && git wf submit TASK --commit SEEN takes " +
		"that; git wf land --pr TASK brings the approved version back"},
	"moved":    {"its pull request was given another base", "git wf land --pr TASK gives it BASE again"},
	"merged":   {"it is called merged, but BASE does not have it", "git wf land --pr TASK proposes it again"},
	"reverted": {"SEEN took it back", "git wf rerun TASK -m WHY has it made again"},
}

// Asks says what keeps a proposed version from landing without a person, and the command for that; "" if nothing does.
func (l *Landing) Asks() (text, command string) {
	seen := fmt.Sprintf("%.12s", l.Seen)
	words := strings.NewReplacer("BASE", plain.Line(l.Base), "TASK", string(l.TaskID), "SEEN", seen)
	state := proposalStates[l.State]
	return words.Replace(state[0]), words.Replace(state[1])
}

// The kinds of landing, in the record's name.
const (
	landed   = "landed"
	refused  = "refused"  // it conflicts with the branch or fails there: the task needs a new base
	flaky    = "flaky"    // a criterion failed once and passed once, which says nothing
	proposed = "proposed" // others are to merge it
)

// Outcome says for people what became of the version.
func (l *Landing) Outcome() string {
	if asks, _ := l.Asks(); l.Head != "" {
		where := cmp.Or(l.URL, "a branch for "+l.Base)
		return plain.Line(strings.TrimSuffix(fmt.Sprintf("%s is proposed as %s: %s", l.ArtifactID, where, asks), ": "))
	}
	if l.Commit == "" {
		why, _, _ := strings.Cut(l.Reason, "\n") // what a hook prints may follow
		return fmt.Sprintf("%s did not land: %s", l.ArtifactID, plain.Line(why))
	}
	return fmt.Sprintf("%s landed on %s as %.12s", l.ArtifactID, plain.Line(l.Branch), l.Commit)
}

func (l *Landing) kind() string {
	switch {
	case l.Commit != "":
		return landed
	case l.Head != "":
		return proposed
	case l.Flaky:
		return flaky
	}
	return refused
}

// NeedsNewBase reports whether the newest version was refused when it was to land, and has landed
// nowhere.
func (r *TaskRecords) NeedsNewBase() bool {
	needs := false
	for _, l := range r.Landings {
		if l.Version == r.Active() {
			if l.Kind == landed {
				return false
			}
			needs = needs || l.Kind == refused
		}
	}
	return needs
}

// Landed reports whether a version came to a branch.
func (r *TaskRecords) Landed(version int) bool {
	return slices.ContainsFunc(r.Landings, func(l landingRecord) bool { return l.Version == version && l.Landed() })
}

// Proposed reports whether a version waits for others to merge it; of 0, whether any version ever did.
func (r *TaskRecords) Proposed(version int) bool {
	for _, l := range slices.Backward(r.Landings) {
		if l.Version == version || version == 0 && l.Kind == proposed {
			return l.Kind == proposed
		}
	}
	return false
}

// landingRecord is a landing, or a refused one.
type landingRecord struct {
	N       int
	Version int
	Kind    string
}

func (l landingRecord) number() int { return l.N }

// Landed reports whether the version came to the branch.
func (l landingRecord) Landed() bool { return l.Kind == landed }

// Path is where the record is, below the task's directory.
func (l landingRecord) Path() string {
	return recordPath("landings", false, 0, values{n: l.N, version: l.Version, word: l.Kind})
}

// Land records how an approved version came to a branch, or why it did not.
type Land struct {
	Landing Landing // LandingID is assigned by Apply
	Author  Actor
}

// Repairs says that a completed plan takes the event: what it made may land later.
func (Land) Repairs() {}

// Apply is refused unless the version is one that changes the repository, and was approved.
func (e Land) Apply(s *State) (Change, error) {
	l := e.Landing
	if _, err := s.actionNamed(l.TaskID); err != nil {
		return Change{}, err
	}
	r := s.Records.Of(l.TaskID)
	version := VersionNumber(l.ArtifactID)
	v, ok := r.Version(version)
	switch {
	case !ok || v.Files != l.Tree:
		return Change{}, refuse(l.TaskID, "%s is not the version that was to land", l.ArtifactID)
	case s.VersionVerdict(l.TaskID, l.ArtifactID) != Approved:
		return Change{}, refuse(l.TaskID, "%s is not approved", l.ArtifactID)
	case l.Commit != "" && !s.Delivers(l.TaskID, version):
		return Change{}, refuse(l.TaskID, "%s %s", l.ArtifactID, s.KeptBack(l.TaskID, version))
	}
	rec := landingRecord{N: nextNumber(r.Landings), Version: version, Kind: l.kind()}
	what := l.Outcome()
	if l.Commit == "" && l.Head == "" {
		what = fmt.Sprintf("%s did not land on %s", l.ArtifactID, plain.Line(l.Branch))
	}
	l.LandingID = fmt.Sprintf("l%d", rec.N)
	body := strings.Join(slices.Concat([]string{l.Reason}, l.Conflicts), "\n")
	return Change{
		Subject:  fmt.Sprintf("%s: %s", l.TaskID, what),
		Body:     strings.TrimSpace(body),
		Trailers: trailers(eventLanding, l.TaskID, "Wf-Artifact", l.ArtifactID),
		Author:   e.Author,
		Add:      []Entry{{Path: l.TaskID.Dir() + "/" + rec.Path(), Data: Document(l)}},
	}, nil
}
