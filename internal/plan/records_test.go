package plan

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/relpath"
)

// everyRecord is a directory with one record of each kind, and some names that are none.
const everyRecord = `artifacts/v1/artifact.json
artifacts/v1/files
artifacts/v2/artifact.json
artifacts/v2/files
reviews/r1-v1-62-xiaojing/REJECTED.md
reviews/r1-v1-62-xiaojing/review.json
reviews/r2-v2-100-%E2%98%83/APPROVED.md
reviews/r2-v2-100-%E2%98%83/review.json
checks/k1-v1.json
attempts/a1-error.json
attempts/a1.log
attempts/a2-v1-lost.json
attempts/a3-needs_input.json
attempts/a4-noop.json
resets/s1-a2-r1.json
resets/s2-a0-r0.json
questions/q1.json
answers/q1.json
inputs/logo/1.json
inputs/logo/2.json
waivers/w1-v2-A3.json
marks/0001-abandoned.json
marks/0002-restored.json`

// flowRecords are of changes, of plans with roles, and of a prune; the second half are none.
const flowRecords = `landings/l1-v2-landed.json
artifacts/v2/from/OTHER-1-v1
artifacts/v2/mode-partial
holds/h1-v2-OTHER-1-v2.json
acts/v1-a0-verdicts.json
orders/o1-d1-b0-a0.json
orders/o2-d2-b1-a1-investigate.json
feasibility/f1-v1.json
artifacts/v3/artifact.json
artifacts/v3/pruned-1111111111111111111111111111111111111111
landings/l1-v1-lost.json
artifacts/v1/from/other-v1
artifacts/v1/from/OTHER-1
artifacts/v1/mode-full
holds/h1-v1-OTHER-1.json
acts/v1-verdicts.json
orders/o1-d0-b0-a0.json
artifacts/v1/pruned-1`

// notRecords are names that nearly are: none may count.
const notRecords = `reviews
artifacts
x
artifacts/v3/files
artifacts/v4/artifact.json
artifacts/v0/artifact.json
artifacts/v0/files
artifacts/v01/artifact.json
artifacts/v01/files
reviews/r9-v0-99-eve/APPROVED.md
reviews/r9-v0-99-eve/review.json
artifacts/v1/files.txt
reviews/r3-v1-99-eve/APPROVED.md
reviews/r4-v1-99-eve/review.json
reviews/r5-v1-101-eve/APPROVED.md
reviews/r5-v1-101-eve/review.json
reviews/r6-v1-099-eve/APPROVED.md
reviews/r6-v1-099-eve/review.json
reviews/r7-v1-99-/APPROVED.md
reviews/r8-v1-99-eve/approved.md
reviews/review.json
checks/k1.json
attempts/a1-bored.json
attempts/a1-error.json/x
resets/s3-a-r1.json
questions/q0.json
inputs/logo
inputs/logo/x.json
waivers/w1-A3.json
marks/1-abandoned.json
marks/0003-done.json`

func namesOf(lists ...string) []Name {
	var names []Name
	for _, list := range lists {
		for line := range strings.SplitSeq(list, "\n") {
			names = append(names, Name{line, "1111111111111111111111111111111111111111"})
		}
	}
	return names
}

func TestParseTaskRecords(t *testing.T) {
	const oid = OID("1111111111111111111111111111111111111111")
	want := &TaskRecords{
		Artifacts: []ArtifactRecord{{1, oid}, {2, oid}},
		Reviews:   []ReviewRecord{{1, 1, 62, "xiaojing", Rejected}, {2, 2, 100, "%E2%98%83", Approved}},
		Checks:    []CheckRecord{{1, 1}},
		Attempts:  []AttemptRecord{{1, 0, AttemptError}, {2, 1, AttemptLost}, {3, 0, AttemptNeedsInput}, {4, 0, AttemptNoop}},
		Resets:    []resetRecord{{1, 2, 1}, {2, 0, 0}},
		Questions: []int{1}, Answers: []int{1},
		Inputs:  map[string]int{"logo": 2},
		Waivers: []WaiverRecord{{1, 2, "A3"}},
		Marks:   []markRecord{{1, eventAbandoned}, {2, eventRestored}},
		Foreign: strings.Split(notRecords, "\n"),
	}
	names := namesOf(everyRecord, notRecords)
	if diff := cmp.Diff(want, ParseTaskRecords(names)); diff != "" {
		t.Error(diff)
	}
	// The order of the listing is the tree's business.
	slices.Reverse(names)
	got := ParseTaskRecords(names)
	slices.Reverse(got.Foreign)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed backwards: %s", diff)
	}
}

// Records are numbered, not named alphabetically: r10 comes after r9.
func TestRecordsAreOrderedByNumber(t *testing.T) {
	var names []Name
	for _, n := range []string{"10", "9", "2"} {
		names = append(names,
			namesOf("reviews/r"+n+"-v1-90-ann/APPROVED.md\nreviews/r"+n+"-v1-90-ann/review.json\nattempts/a"+n+"-noop.json")...)
	}
	r := ParseTaskRecords(names)
	for i, want := range []int{2, 9, 10} {
		if r.Reviews[i].N != want || r.Attempts[i].N != want {
			t.Errorf("place %d has review %d and attempt %d, want %d", i, r.Reviews[i].N, r.Attempts[i].N, want)
		}
	}
}

// A directory that says both yes and no rejects, whatever the order of its names.
func TestContradictingReviewRejects(t *testing.T) {
	names := namesOf("artifacts/v1/artifact.json\nartifacts/v1/files\nreviews/r1-v1-100-ann/APPROVED.md\nreviews/r1-v1-100-ann/REJECTED.md\nreviews/r1-v1-100-ann/review.json")
	for range 2 {
		slices.Reverse(names)
		p := &Plan{RootTaskID: "GOAL-1", Tasks: []*Task{{TaskID: "IMPL-1", NodeType: Action}}}
		s := Derive(p, Records{Tasks: map[TaskID]*TaskRecords{"IMPL-1": ParseTaskRecords(names)}}, nil, noon)
		if ts := s.Tasks["IMPL-1"]; ts.Status != StatusToBeModified || ts.Approved != 0 {
			t.Errorf("%s, approved v%d", ts.Status, ts.Approved)
		}
	}
}

// The names that an event writes are those that a reader knows.
func TestRecordNames(t *testing.T) {
	r := ParseTaskRecords(namesOf(everyRecord))
	want := map[string]bool{}
	for line := range strings.SplitSeq(everyRecord, "\n") {
		want[line] = true
	}
	check := func(name string) {
		if !want[name] {
			t.Errorf("%s is written but not read", name)
		}
	}
	for _, x := range r.Reviews {
		check(x.Path())
		check(x.Text())
	}
	for _, x := range r.Checks {
		check(x.Path())
	}
	for _, x := range r.Attempts {
		check(x.Path())
	}
	for _, x := range r.Resets {
		check(x.path())
	}
	for _, x := range r.Waivers {
		check(x.Path())
	}
	for _, x := range r.Marks {
		check(x.Path())
	}
	if !r.Waived(2, "A3") || r.Waived(1, "A3") || r.Waived(2, "A") {
		t.Error("the waiver is of A3 in v2 alone")
	}
}

// spelling is the form of each name, as docs/format.md gives it, in another notation than the reader's.
var spelling = func() map[string]*regexp.Regexp {
	const n = `([1-9][0-9]{0,8})`
	forms := map[string]*regexp.Regexp{}
	for kind, form := range map[string]string{
		"version":     `artifacts/v` + n + `/files`,
		"artifact":    `artifacts/v` + n + `/artifact\.json`,
		"verdict":     `reviews/r` + n + `-v` + n + `-(100|[1-9]?[0-9])-([^/]+)/(APPROVED|REJECTED)\.md`,
		"review":      `reviews/r` + n + `-v` + n + `-(100|[1-9]?[0-9])-([^/]+)/review\.json`,
		"check":       `checks/k` + n + `-v` + n + `\.json`,
		"attempt":     `attempts/a` + n + `(?:-v` + n + `)?-(error|lost|needs_input|noop)\.json`,
		"log":         `attempts/a` + n + `\.log`,
		"reset":       `resets/s` + n + `-a([0-9]{1,9})-r([0-9]{1,9})\.json`,
		"question":    `questions/q` + n + `\.json`,
		"answer":      `answers/q` + n + `\.json`,
		"input":       `inputs/([^/]+)/` + n + `\.json`,
		"waiver":      `waivers/w` + n + `-v` + n + `-([^/]+)\.json`,
		"feasibility": `feasibility/f` + n + `-v` + n + `\.json`,
		"mark":        `marks/([0-9]{4,9})-(abandoned|restored)\.json`,
		"landing":     `landings/l` + n + `-v` + n + `-(landed|refused|flaky)\.json`,
		"from":        `artifacts/v` + n + `/from/([^/]+)-v` + n,
		"mode":        `artifacts/v` + n + `/mode-(partial|investigate)`,
		"stub":        `artifacts/v` + n + `/pruned-([0-9a-f]{40})`,
		"hold":        `holds/h` + n + `-v` + n + `-([^/]+)-v` + n + `\.json`,
		"act":         `acts/v` + n + `-a([0-9]{1,9})-(verdicts|order|ask|finish)\.json`,
		"order":       `orders/o` + n + `-d` + n + `-b([0-9]{1,9})-a([0-9]{1,9})(?:-(partial|investigate))?\.json`,
	} {
		forms[kind] = regexp.MustCompile(`(?s)^` + form + `$`)
	}
	return forms
}()

// spelled reads names as ParseTaskRecords does, slowly.
func spelled(names []Name) *TaskRecords {
	t := &TaskRecords{}
	there, stubs := map[string]bool{}, map[string]bool{}
	for _, n := range names {
		there[n.Path] = true
		if spelling["stub"].MatchString(n.Path) {
			stubs[path.Dir(n.Path)] = true
		}
	}
	num := func(s string) int { n, _ := strconv.Atoi(s); return n }
	for _, n := range names {
		kind, m := "", []string(nil)
		for k, form := range spelling {
			if found := form.FindStringSubmatch(n.Path); found != nil {
				kind, m = k, found
			}
		}
		dir := n.Path[:max(strings.LastIndexByte(n.Path, '/'), 0)]
		switch {
		case kind == "version" && there[dir+"/artifact.json"]:
			t.Artifacts = append(t.Artifacts, ArtifactRecord{num(m[1]), n.OID})
		case kind == "artifact" && (there[dir+"/files"] || stubs[dir]), kind == "log", kind == "feasibility":
		case kind == "stub" && there[dir+"/artifact.json"] && !there[dir+"/files"] && !slices.Contains(t.Pruned, num(m[1])):
			t.Pruned = append(t.Pruned, num(m[1]))
			t.Artifacts = append(t.Artifacts, ArtifactRecord{num(m[1]), OID(m[2])})
		case kind == "from" && TaskID(m[2]).Valid():
			t.From = append(t.From, linkRecord{num(m[1]), TaskID(m[2]), num(m[3])})
		case kind == "mode":
			t.Modes = append(t.Modes, modeRecord{num(m[1]), m[2]})
		case kind == "hold" && TaskID(m[3]).Valid():
			t.Holds = append(t.Holds, linkRecord{num(m[2]), TaskID(m[3]), num(m[4])})
		case kind == "landing":
			t.Landings = append(t.Landings, landingRecord{num(m[1]), num(m[2]), m[3]})
		case kind == "act":
			t.Acts = append(t.Acts, actRecord{num(m[1]), num(m[2]), m[3]})
		case kind == "order":
			t.Orders = append(t.Orders, orderRecord{num(m[1]), num(m[2]), num(m[3]), num(m[4]), m[5]})
		case kind == "verdict" && there[dir+"/review.json"]:
			t.Reviews = append(t.Reviews, ReviewRecord{num(m[1]), num(m[2]), num(m[3]), m[4], Verdict(m[5])})
		case kind == "review" && (there[dir+"/APPROVED.md"] || there[dir+"/REJECTED.md"]):
		case kind == "check":
			t.Checks = append(t.Checks, CheckRecord{num(m[1]), num(m[2])})
		case kind == "attempt":
			t.Attempts = append(t.Attempts, AttemptRecord{num(m[1]), num(m[2]), m[3]})
		case kind == "reset":
			t.Resets = append(t.Resets, resetRecord{num(m[1]), num(m[2]), num(m[3])})
		case kind == "question":
			t.Questions = append(t.Questions, num(m[1]))
		case kind == "answer":
			t.Answers = append(t.Answers, num(m[1]))
		case kind == "input":
			if t.Inputs == nil {
				t.Inputs = map[string]int{}
			}
			t.Inputs[m[1]]++
		case kind == "waiver":
			t.Waivers = append(t.Waivers, WaiverRecord{num(m[1]), num(m[2]), m[3]})
		case kind == "mark":
			t.Marks = append(t.Marks, markRecord{num(m[1]), m[2]})
		case ofNewKind.MatchString(n.Path) && !ofKnownKind.MatchString(n.Path) &&
			relpath.Check(n.Path[strings.IndexByte(n.Path, '/')+1:]) == nil:
			t.Newer = append(t.Newer, n.Path)
		default:
			t.Foreign = append(t.Foreign, n.Path)
		}
	}
	t.sort()
	return t
}

var (
	ofNewKind   = regexp.MustCompile(`^[a-z_-]{1,32}/.`)
	ofKnownKind = regexp.MustCompile(`^(artifacts|reviews|checks|attempts|resets|questions|answers|inputs|waivers|marks|feasibility|landings|holds|acts|orders|tasks|deliverables)/`)
)

// Nothing panics, and every name counts, is the other half of one that does, or is foreign.
func FuzzRecords(f *testing.F) {
	f.Add(everyRecord)
	f.Add(notRecords)
	f.Add(flowRecords)
	f.Add("reviews")
	f.Add("reviews/r1-v1-1-a/APPROVED.md\nreviews/r1-v1-1-a/REJECTED.md\nreviews/r1-v1-1-a/review.json")
	f.Add("resets/s1-a01-r000000000.json\nresets/s1-a1234567890-r1.json\nmarks/123456789-restored.json\nmarks/0000000001-restored.json\nattempts/a1-v1-v1-lost.json")
	f.Add("waivers/w1-v1-.json\nwaivers/w1-v1-a-b.json\nwaivers/w1-v1-.json.json\ninputs//1.json\ninputs/a/b/1.json\nchecks/k1-v1.json.json\nreviews/r1-v1-100-a-b/APPROVED.md")
	f.Fuzz(func(t *testing.T, text string) {
		var names []Name
		for _, l := range slices.Compact(slices.Sorted(strings.SplitSeq(text, "\n"))) {
			names = append(names, Name{Path: l, OID: "1111111111111111111111111111111111111111"})
		}
		if diff := cmp.Diff(spelled(names), ParseTaskRecords(names)); diff != "" {
			t.Fatalf("(- as spelled, + as read) %s", diff)
		}
	})
}

// The fuzzer seldom hits on a name that nearly counts; here each one differs from a known one in a place or two.
func TestRecordsAsSpelled(t *testing.T) {
	known := strings.Split(everyRecord+"\n"+notRecords, "\n")
	pieces := []string{"", "0", "1", "9", "00", "10", "100", "123456789", "1234567890", "-", "/", ".", ".json", "-v1",
		"-v0", "v", "a", "%", "é", "\xff", "+1", " ", "error", "lost", "files"}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 8).Draw(t, "names") {
			l := rapid.SampledFrom(known).Draw(t, "name")
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				from := rapid.IntRange(0, len(l)).Draw(t, "from")
				to := min(from+rapid.IntRange(0, 3).Draw(t, "length"), len(l))
				l = l[:from] + rapid.SampledFrom(pieces).Draw(t, "piece") + l[to:]
			}
			lines = append(lines, l)
		}
		slices.Sort(lines)
		names := namesOf(strings.Join(slices.Compact(lines), "\n"))
		if diff := cmp.Diff(spelled(names), ParseTaskRecords(names)); diff != "" {
			t.Fatalf("%q (- as spelled, + as read) %s", lines, diff)
		}
	})
}

func FuzzEscapeName(f *testing.F) {
	for _, s := range []string{"xiaojing", "小京", "", ".", "..", ".git", "a.", "a/b", "100%", "%2F", "e\u0301", "\u212b",
		"\xff", "\ufffd", "a b", "con", "\u1100\u1161", "x\u200dy"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		escaped := EscapeName(name)
		if back := UnescapeName(escaped); back != name {
			t.Fatalf("%q becomes %q and comes back as %q", name, escaped, back)
		}
		if !utf8.ValidString(escaped) {
			t.Fatalf("%q becomes %q", name, escaped)
		}
		const limit = 200
		if name == "" || len(escaped) > limit {
			return
		}
		rec := ReviewRecord{1, 1, 100, escaped, Approved}
		path := rec.Text()
		if err := relpath.Check(path); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if got := ParseTaskRecords(namesOf(path + "\n" + rec.Path())); len(got.Reviews) != 1 || got.Reviews[0] != rec {
			t.Fatalf("%q: %v is read as %v", name, rec, got.Reviews)
		}
	})
}
