package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Verdict is what a review says. The name of the review's file is its verdict.
type Verdict string

// The two verdicts.
const (
	Approved Verdict = "APPROVED"
	Rejected Verdict = "REJECTED"
)

// File is the name of the file that carries the verdict: APPROVED.md or REJECTED.md.
func (v Verdict) File() string { return string(v) + ".md" }

// Records is what a plan's tree holds beside plan.json, by task. It is read from names alone.
type Records struct {
	Tasks map[TaskID]*TaskRecords
}

// Of returns the records of a task; a task without any has empty ones.
func (r Records) Of(id TaskID) *TaskRecords {
	if t := r.Tasks[id]; t != nil {
		return t
	}
	return &TaskRecords{}
}

// TaskRecords are the records of one task, each kind in ascending order of its number. Records of a CHECK are kept
// with its target.
type TaskRecords struct {
	Artifacts []ArtifactRecord
	Reviews   []ReviewRecord
	Checks    []CheckRecord
	Attempts  []AttemptRecord
	Resets    []ResetRecord
	Questions []int
	Answers   []int
	Inputs    map[string]int // number of files handed in, by the requirement's name
	Waivers   []WaiverRecord
	Marks     []MarkRecord
	Foreign   []string // names that docs/format.md does not know; doctor reports them
}

// ArtifactRecord is one version of the deliverable; Files is the object id of its files/ tree.
type ArtifactRecord struct {
	Version int
	Files   OID
}

// ReviewRecord is one reviewer's verdict on one version. Reviewer is in the escaped form of EscapeName.
type ReviewRecord struct {
	N        int
	Version  int
	Score    int
	Reviewer string
	Verdict  Verdict
}

// Dir is the name of the review's directory below reviews/.
func (r ReviewRecord) Dir() string {
	return fmt.Sprintf("r%d-v%d-%d-%s", r.N, r.Version, r.Score, r.Reviewer)
}

// CheckRecord is what the engine itself ran on a version.
type CheckRecord struct{ N, Version int }

// Name is the record's file name below checks/.
func (c CheckRecord) Name() string { return fmt.Sprintf("k%d-v%d.json", c.N, c.Version) }

// The kinds of attempt that leave no artifact.
const (
	AttemptError      = "error"
	AttemptLost       = "lost"
	AttemptNeedsInput = "needs_input"
	AttemptNoop       = "noop"
)

// AttemptRecord is an attempt that left no artifact; or, when Version is not zero, an attempt of the task's CHECK on
// that version that left no review.
type AttemptRecord struct {
	N       int
	Version int
	Kind    string
}

// Name is the record's file name below attempts/; its log has the same number.
func (a AttemptRecord) Name() string {
	if a.Version > 0 {
		return fmt.Sprintf("a%d-v%d-%s.json", a.N, a.Version, a.Kind)
	}
	return fmt.Sprintf("a%d-%s.json", a.N, a.Kind)
}

// ResetRecord says that attempts and reviews up to these numbers no longer count against the limit.
type ResetRecord struct{ N, Attempt, Review int }

// Name is the record's file name below resets/.
func (r ResetRecord) Name() string { return fmt.Sprintf("s%d-a%d-r%d.json", r.N, r.Attempt, r.Review) }

// WaiverRecord passes one criterion of one version.
type WaiverRecord struct {
	N         int
	Version   int
	Criterion string // escaped form
}

// Name is the record's file name below waivers/.
func (w WaiverRecord) Name() string {
	return fmt.Sprintf("w%d-v%d-%s.json", w.N, w.Version, w.Criterion)
}

// The kinds of mark.
const (
	MarkAbandoned = "abandoned"
	MarkRestored  = "restored"
)

// MarkRecord takes a task out of the plan, or back in; the newest counts.
type MarkRecord struct {
	N    int
	Kind string
}

// Name is the record's file name below marks/.
func (m MarkRecord) Name() string { return fmt.Sprintf("%04d-%s.json", m.N, m.Kind) }

// Claim is a lease on a task while somebody works on it.
type Claim struct {
	Task    TaskID    `json:"task_id"`
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Expires time.Time `json:"expires"`
	Number  int       `json:"number"` // grows with each claim of the task
}

// Claims are the claims on a plan's tasks.
type Claims map[TaskID]Claim

// A Name is one entry of a task's directory: its path below that directory, and its object id.
type Name struct {
	Path string
	OID  OID
}

const numberPattern = `([1-9][0-9]{0,8})`

var recordPatterns = struct {
	files, artifact, review, reviewJSON, check, attempt, log, reset, question, answer, input, waiver, mark *regexp.Regexp
}{
	files:      regexp.MustCompile(`^artifacts/v` + numberPattern + `/files$`),
	artifact:   regexp.MustCompile(`^artifacts/v` + numberPattern + `/artifact\.json$`),
	review:     regexp.MustCompile(`^reviews/r` + numberPattern + `-v` + numberPattern + `-(100|[1-9]?[0-9])-([^/]+)/(APPROVED|REJECTED)\.md$`),
	reviewJSON: regexp.MustCompile(`^reviews/r` + numberPattern + `-v` + numberPattern + `-(?:100|[1-9]?[0-9])-[^/]+/review\.json$`),
	check:      regexp.MustCompile(`^checks/k` + numberPattern + `-v` + numberPattern + `\.json$`),
	attempt:    regexp.MustCompile(`^attempts/a` + numberPattern + `(?:-v` + numberPattern + `)?-(error|lost|needs_input|noop)\.json$`),
	log:        regexp.MustCompile(`^attempts/a` + numberPattern + `\.log$`),
	reset:      regexp.MustCompile(`^resets/s` + numberPattern + `-a([0-9]{1,9})-r([0-9]{1,9})\.json$`),
	question:   regexp.MustCompile(`^questions/q` + numberPattern + `\.json$`),
	answer:     regexp.MustCompile(`^answers/q` + numberPattern + `\.json$`),
	input:      regexp.MustCompile(`^inputs/([^/]+)/` + numberPattern + `\.json$`),
	waiver:     regexp.MustCompile(`^waivers/w` + numberPattern + `-v` + numberPattern + `-([^/]+)\.json$`),
	mark:       regexp.MustCompile(`^marks/([0-9]{4,9})-(abandoned|restored)\.json$`),
}

// ParseTaskRecords sorts the names found in a task's directory into records. The listing has every blob below the
// directory but those in a files/ tree, and each files/ tree itself. What the format does not know, or what lacks
// its other half (a verdict or its review.json, a version's files/ or its artifact.json), is Foreign and has no effect.
func ParseTaskRecords(names []Name) *TaskRecords {
	t := &TaskRecords{}
	halves := map[string]half{} // by the record's directory
	for _, n := range names {
		dir, base := splitName(n.Path)
		if h := halfOf(base); h != 0 {
			halves[dir] |= h
		}
	}
	for _, n := range names {
		if !t.add(n, halves) {
			t.Foreign = append(t.Foreign, n.Path)
		}
	}
	t.sort()
	return t
}

// half is a set of the names that only count in pairs.
type half uint8

const (
	halfFiles half = 1 << iota
	halfArtifact
	halfVerdict
	halfReview
)

func halfOf(base string) half {
	switch base {
	case "files":
		return halfFiles
	case "artifact.json":
		return halfArtifact
	case "APPROVED.md", "REJECTED.md":
		return halfVerdict
	case "review.json":
		return halfReview
	}
	return 0
}

func splitName(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func (t *TaskRecords) add(n Name, halves map[string]half) bool {
	kind, _, _ := strings.Cut(n.Path, "/")
	dir, _ := splitName(n.Path)
	p := &recordPatterns
	switch kind {
	case "artifacts":
		if m := p.files.FindStringSubmatch(n.Path); m != nil && halves[dir]&halfArtifact != 0 {
			t.Artifacts = append(t.Artifacts, ArtifactRecord{Version: atoi(m[1]), Files: n.OID})
			return true
		}
		return halves[dir]&halfFiles != 0 && p.artifact.MatchString(n.Path)
	case "reviews":
		if m := p.review.FindStringSubmatch(n.Path); m != nil && halves[dir]&halfReview != 0 {
			t.Reviews = append(t.Reviews, ReviewRecord{atoi(m[1]), atoi(m[2]), atoi(m[3]), m[4], Verdict(m[5])})
			return true
		}
		return halves[dir]&halfVerdict != 0 && p.reviewJSON.MatchString(n.Path)
	case "checks":
		if m := p.check.FindStringSubmatch(n.Path); m != nil {
			t.Checks = append(t.Checks, CheckRecord{atoi(m[1]), atoi(m[2])})
			return true
		}
	case "attempts":
		if m := p.attempt.FindStringSubmatch(n.Path); m != nil {
			t.Attempts = append(t.Attempts, AttemptRecord{atoi(m[1]), atoi(m[2]), m[3]})
			return true
		}
		return p.log.MatchString(n.Path)
	case "resets":
		if m := p.reset.FindStringSubmatch(n.Path); m != nil {
			t.Resets = append(t.Resets, ResetRecord{atoi(m[1]), atoi(m[2]), atoi(m[3])})
			return true
		}
	case "questions":
		if m := p.question.FindStringSubmatch(n.Path); m != nil {
			t.Questions = append(t.Questions, atoi(m[1]))
			return true
		}
	case "answers":
		if m := p.answer.FindStringSubmatch(n.Path); m != nil {
			t.Answers = append(t.Answers, atoi(m[1]))
			return true
		}
	case "inputs":
		if m := p.input.FindStringSubmatch(n.Path); m != nil {
			if t.Inputs == nil {
				t.Inputs = map[string]int{}
			}
			t.Inputs[m[1]]++
			return true
		}
	case "waivers":
		if m := p.waiver.FindStringSubmatch(n.Path); m != nil {
			t.Waivers = append(t.Waivers, WaiverRecord{atoi(m[1]), atoi(m[2]), m[3]})
			return true
		}
	case "marks":
		if m := p.mark.FindStringSubmatch(n.Path); m != nil {
			t.Marks = append(t.Marks, MarkRecord{atoi(m[1]), m[2]})
			return true
		}
	}
	return false
}

func (t *TaskRecords) sort() {
	slices.SortFunc(t.Artifacts, func(a, b ArtifactRecord) int { return a.Version - b.Version })
	// Of two reviews with one number, which only a foreign writer makes, a rejection has the last word.
	slices.SortFunc(t.Reviews, func(a, b ReviewRecord) int {
		return cmp.Or(a.N-b.N, strings.Compare(string(a.Verdict), string(b.Verdict)))
	})
	slices.SortFunc(t.Checks, func(a, b CheckRecord) int { return a.N - b.N })
	slices.SortFunc(t.Attempts, func(a, b AttemptRecord) int { return a.N - b.N })
	slices.SortFunc(t.Resets, func(a, b ResetRecord) int { return a.N - b.N })
	slices.SortFunc(t.Waivers, func(a, b WaiverRecord) int { return a.N - b.N })
	slices.SortFunc(t.Marks, func(a, b MarkRecord) int { return a.N - b.N })
	slices.Sort(t.Questions)
	slices.Sort(t.Answers)
}

// atoi reads a number that a pattern has already bounded; an absent one is zero.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// Version returns the record of version v, and whether there is one.
func (t *TaskRecords) Version(v int) (ArtifactRecord, bool) {
	for _, a := range t.Artifacts {
		if a.Version == v {
			return a, true
		}
	}
	return ArtifactRecord{}, false
}

// Active is the newest version, the candidate; zero if there is none.
func (t *TaskRecords) Active() int {
	if n := len(t.Artifacts); n > 0 {
		return t.Artifacts[n-1].Version
	}
	return 0
}

// Reset is the newest reset; the zero record resets nothing.
func (t *TaskRecords) Reset() ResetRecord {
	if n := len(t.Resets); n > 0 {
		return t.Resets[n-1]
	}
	return ResetRecord{}
}

// Abandoned reports whether the newest mark takes the task out of the plan.
func (t *TaskRecords) Abandoned() bool {
	n := len(t.Marks)
	return n > 0 && t.Marks[n-1].Kind == MarkAbandoned
}

// Waived reports whether a waiver passes the criterion for the version.
func (t *TaskRecords) Waived(version int, criterion string) bool {
	return slices.ContainsFunc(t.Waivers, func(w WaiverRecord) bool {
		return w.Version == version && w.Criterion == EscapeName(criterion)
	})
}

// EscapeName makes a name (a reviewer's, a criterion's id) fit for a path component, so that different names stay
// different: letters and digits of any script and . _ @ + - stay, the rest is %XX of its bytes. The result neither
// begins nor ends with a dot, and is in NFC: of a name that is not, everything but ASCII is escaped.
func EscapeName(name string) string {
	composed := norm.NFC.IsNormalString(name)
	var b strings.Builder
	for i, size := 0, 0; i < len(name); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(name[i:])
		outerDot := r == '.' && (i == 0 || i+size == len(name))
		if isNameRune(r) && !outerDot && (composed || r < utf8.RuneSelf) {
			b.WriteRune(r)
			continue
		}
		for _, c := range []byte(name[i : i+size]) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// UnescapeName is the inverse of EscapeName. A malformed escape stays as it is.
func UnescapeName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
