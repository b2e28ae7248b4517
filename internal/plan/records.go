package plan

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"gitwf/internal/each"
	"gitwf/internal/plain"
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

// Records is what a plan's tree holds besides plan.json, of each task and of the plan. It is read from names alone.
type Records struct {
	Tasks   map[TaskID]*TaskRecords
	Session []sessionRecord // of the plan as a whole (session.go), in ascending order
	Notes   []noteRecord
	Newer   []string // paths of records of kinds that this program does not know; those at the top by their directories
}

// CollectNewer finds the paths of records of tasks whose kinds this program does not know.
func (r Records) CollectNewer() []string {
	var paths []string
	for id, t := range r.Tasks {
		for _, name := range t.Newer {
			paths = append(paths, id.Dir()+"/"+name)
		}
	}
	slices.Sort(paths)
	return paths
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
	Pruned    []int // the versions whose files a prune has taken (event_prune.go)
	Reviews   []ReviewRecord
	Checks    []CheckRecord
	Attempts  []AttemptRecord
	Resets    []resetRecord
	Questions []int
	Answers   []int
	Inputs    map[string]int // number of files handed in, by the requirement's name
	Waivers   []WaiverRecord
	Marks     []markRecord
	Landings  []landingRecord
	From      []linkRecord // what versions were made from, of a task that follows
	Holds     []linkRecord // newer versions of that, for which a reviewer says that a version still holds
	Modes     []modeRecord
	Acts      []actRecord
	Orders    []orderRecord
	Newer     []string // names of records of a kind that this program does not know; they have no effect
	Foreign   []string // names that docs/format.md does not know; doctor reports them
}

// ArtifactRecord is one version of the deliverable; Files is the object id of its files/ tree.
type ArtifactRecord struct {
	Version int
	Files   OID
}

// Path is where its document is, below the task's directory.
func (a ArtifactRecord) Path() string { return recordPath("artifacts", false, 0, values{n: a.Version}) }

// FilesPath is where its files are, below the task's directory.
func (a ArtifactRecord) FilesPath() string {
	return recordPath("artifacts", false, 1, values{n: a.Version})
}

// ReviewRecord is one reviewer's verdict on one version. Reviewer is in the escaped form of EscapeName.
type ReviewRecord struct {
	N        int
	Version  int
	Score    int
	Reviewer string
	Verdict  Verdict
}

// Path is where its document is, below the task's directory.
func (r ReviewRecord) Path() string { return r.path(0) }

// Text is where the review for people is, below the task's directory.
func (r ReviewRecord) Text() string { return r.path(1) }

// Dir is the directory of both.
func (r ReviewRecord) Dir() string { return strings.TrimSuffix(r.path(0), "/review.json") }

func (r ReviewRecord) path(form int) string {
	return recordPath("reviews", false, form, values{n: r.N, version: r.Version, score: r.Score, name: r.Reviewer,
		word: string(r.Verdict)})
}

// CheckRecord is what the engine itself ran on a version.
type CheckRecord struct{ N, Version int }

// Path is where the record is, below the task's directory.
func (c CheckRecord) Path() string {
	return recordPath("checks", false, 0, values{n: c.N, version: c.Version})
}

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

// Path is where the record is, below the task's directory.
func (a AttemptRecord) Path() string {
	form := 0
	if a.Version > 0 {
		form = 1
	}
	return recordPath("attempts", false, form, values{n: a.N, version: a.Version, word: a.Kind})
}

// Log is where the attempt's log is, if it has one.
func (a AttemptRecord) Log() string { return recordPath("attempts", false, 2, values{n: a.N}) }

// resetRecord says that attempts and reviews up to these numbers no longer count against the limit.
type resetRecord struct{ N, Attempt, Review int }

// Path is where the record is, below the task's directory.
func (r resetRecord) path() string {
	return recordPath("resets", false, 0, values{n: r.N, attempt: r.Attempt, review: r.Review})
}

// WaiverRecord passes one criterion of one version.
type WaiverRecord struct {
	N         int
	Version   int
	Criterion string // escaped form
}

// Path is where the record is, below the task's directory.
func (w WaiverRecord) Path() string {
	return recordPath("waivers", false, 0, values{n: w.N, version: w.Version, name: w.Criterion})
}

// marks are the kinds of mark: the events that write one.
var marks = [...]string{eventAbandoned, eventDropped, eventClosed, eventRestored}

// markRecord takes a task out of the plan, or back in; the newest counts.
type markRecord struct {
	N    int
	Kind string
}

// Path is where the record is, below the task's directory.
func (m markRecord) Path() string {
	return recordPath("marks", false, 0, values{n: m.N, word: m.Kind})
}

func (r ReviewRecord) number() int  { return r.N }
func (c CheckRecord) number() int   { return c.N }
func (a AttemptRecord) number() int { return a.N }
func (r resetRecord) number() int   { return r.N }
func (w WaiverRecord) number() int  { return w.N }
func (m markRecord) number() int    { return m.N }

// newestOf is the newest record of a kind, the zero record if there is none. Records are sorted by their numbers.
func newestOf[R any](records []R) (newest R) {
	if n := len(records); n > 0 {
		return records[n-1]
	}
	return newest
}

// nextNumber is the next free number of a kind, from 1.
func nextNumber[R interface{ number() int }](records []R) int { return newestOf(records).number() + 1 }

// nextQuestion is the number of the task's next question.
func (t *TaskRecords) nextQuestion() int { return newestOf(t.Questions) + 1 }

// QuestionPath is where the nth question of a task is, below the task's directory.
func (*TaskRecords) QuestionPath(n int) string {
	return recordPath("questions", false, 0, values{n: n})
}

// AnswerPath is where the answer to the nth question is.
func (*TaskRecords) AnswerPath(n int) string { return recordPath("answers", false, 0, values{n: n}) }

// InputPath is where the document of the nth file is that was handed in for a requirement or a question; its name is
// escaped. The file is below the same without .json, in files/.
func (*TaskRecords) InputPath(escaped string, n int) string {
	return recordPath("inputs", false, 0, values{name: escaped, n: n})
}

// FeasibilityPath is where the graft records what was said of its leaves, below the directory of the task.
func (g Graft) FeasibilityPath() string {
	return recordPath("feasibility", false, 0, values{n: 1, version: VersionNumber(g.ArtifactID)})
}

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

	Process  string `json:"process,omitempty"`  // tells the owner's process from another one that has its PID
	Worktree bool   `json:"worktree,omitempty"` // the owner works in a working tree of the repository
	HandedIn bool   `json:"-"`                  // its work waits to be joined
}

// Claims are the claims on a plan's tasks.
type Claims map[TaskID]Claim

// A Name is one entry of a task's directory: its path below that directory, and its object id.
type Name struct {
	Path string
	OID  OID
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
		dir, rest, _ := strings.Cut(n.Path, "/")
		switch k := KindOf(dir, false); {
		case k != nil && k.addRecord(t, n, rest, halves):
		case isNewRecord(n.Path, false):
			t.Newer = append(t.Newer, n.Path)
		default:
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
	halfStub
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
	if stubTree(base) != "" {
		return halfStub
	}
	return 0
}

func splitName(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func appendRecord[T any](list *[]T, record T) bool {
	*list = append(*list, record)
	return true
}

// recordName is what is left of a name. After a part that is not as it must be, bad is set for good.
type recordName struct {
	rest string
	bad  bool
}

// maxDigits bounds the numbers in names, so that they fit everywhere.
const maxDigits = 9

// digits reads a literal and behind it at least the given number of digits.
func (r *recordName) digits(before string, least int) int {
	var ok bool
	if r.rest, ok = strings.CutPrefix(r.rest, before); !ok {
		r.bad = true
		return 0
	}
	n, i := 0, 0
	for i < len(r.rest) && i < maxDigits && '0' <= r.rest[i] && r.rest[i] <= '9' {
		n = 10*n + int(r.rest[i]-'0')
		i++
	}
	r.bad = r.bad || i < least
	r.rest = r.rest[i:]
	return n
}

// count reads a literal and a number behind it, which may be zero.
func (r *recordName) count(before string) int { return r.digits(before, 1) }

// number reads a literal and a number behind it, which begins with no zero.
func (r *recordName) number(before string) int {
	if rest, ok := strings.CutPrefix(r.rest, before); ok && strings.HasPrefix(rest, "0") {
		r.bad = true
	}
	return r.digits(before, 1)
}

// score reads a literal and a number from 0 to 100 behind it.
func (r *recordName) score(before string) int {
	length := len(r.rest)
	n := r.count(before)
	padded := length-len(r.rest)-len(before) != len(strconv.Itoa(n))
	r.bad = r.bad || n > 100 || padded
	return n
}

// word reads a literal and then what stands before the end of the name, or before a slash that the end begins with: it
// must be something, within one directory.
func (r *recordName) word(before, end string) string {
	text, ok := strings.CutPrefix(r.rest, before)
	at := len(text) - len(end)
	if strings.HasPrefix(end, "/") {
		at = strings.IndexByte(text, '/')
	}
	if !ok || at < 1 || !strings.HasPrefix(text[at:], end) || strings.Contains(text[:at], "/") {
		r.bad = true
		return ""
	}
	r.rest = text[at:]
	return text[:at]
}

// ends reports whether all was as it must be and nothing but the end is left.
func (r *recordName) ends(end string) bool { return !r.bad && r.rest == end }

func (t *TaskRecords) sort() {
	sort.Slice(t.Artifacts, func(i, j int) bool { return t.Artifacts[i].Version < t.Artifacts[j].Version })
	slices.Sort(t.Pruned)
	// Only a foreign writer gives two reviews one number; a rejection then has the last word.
	sort.Slice(t.Reviews, func(i, j int) bool {
		a, b := t.Reviews[i], t.Reviews[j]
		return cmp.Or(a.N-b.N, strings.Compare(string(a.Verdict), string(b.Verdict))) < 0
	})
	byNumber(t.Checks)
	byNumber(t.Attempts)
	byNumber(t.Resets)
	byNumber(t.Waivers)
	byNumber(t.Marks)
	byNumber(t.Landings)
	byNumber(t.Acts)
	byNumber(t.Orders)
	slices.Sort(t.Questions)
	slices.Sort(t.Answers)
}

func byNumber[R interface{ number() int }](records []R) {
	sort.Slice(records, func(i, j int) bool { return records[i].number() < records[j].number() })
}

// atoi reads a number of at most nine digits; what is none is zero.
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
func (t *TaskRecords) Active() int { return newestOf(t.Artifacts).Version }

// LastAct is the path of the newest act, below the task's directory; "" if there is none.
func (t *TaskRecords) LastAct() string {
	if len(t.Acts) == 0 {
		return ""
	}
	return newestOf(t.Acts).Path()
}

// Reset is the newest reset; the zero record resets nothing.
func (t *TaskRecords) Reset() resetRecord { return newestOf(t.Resets) }

// Abandoned reports whether the newest mark takes the task out of the plan.
func (t *TaskRecords) Abandoned() bool {
	return newestOf(t.Marks).Kind == eventAbandoned || t.dropped()
}

func (t *TaskRecords) closed() bool { return newestOf(t.Marks).Kind == eventClosed }

func (t *TaskRecords) dropped() bool { return newestOf(t.Marks).Kind == eventDropped }

// Waived reports whether a waiver passes the criterion for the version.
func (t *TaskRecords) Waived(version int, criterion string) bool {
	return slices.ContainsFunc(t.Waivers, func(w WaiverRecord) bool {
		return w.Version == version && w.Criterion == EscapeName(criterion)
	})
}

// WaivedCriteria are the criteria of a version that did not pass and do not count, on a person's word.
func (t *TaskRecords) WaivedCriteria(version int) []string {
	return each.Pick(t.Waivers, func(w WaiverRecord) (string, bool) {
		return UnescapeName(w.Criterion), w.Version == version
	})
}

// WaivedNote says for people which criteria of the task's newest version were waived, "" for none.
func (s *State) WaivedNote(id TaskID) string {
	r := s.Records.Of(id)
	if ids := r.WaivedCriteria(r.Active()); len(ids) > 0 {
		return plain.Line(strings.Join(ids, ", ")) + " waived"
	}
	return ""
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
