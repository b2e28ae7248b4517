package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// panelPlan has one task with a CHECK, a task that judges it, and nothing else that matters.
func panelPlan(check Task) *Plan {
	check.TaskID, check.NodeType, check.ReviewTargetTaskID = "CHECK-IMPL-1", Check, "IMPL-1"
	return &Plan{SchemaVersion: 2, RootTaskID: "GOAL-1", Tasks: []*Task{
		{TaskID: "GOAL-1", NodeType: Goal}, {TaskID: "IMPL-1", NodeType: Action, ParentTaskID: "GOAL-1"}, &check,
		{TaskID: "REVIEW-1", NodeType: Action, ParentTaskID: "GOAL-1", DependsOn: []TaskID{"IMPL-1"},
			Judges: &Judges{Tasks: []TaskID{"IMPL-1"}}},
	}}
}

// panelState derives the state from versions, reviews and resets.
func panelState(p *Plan, versions int, reviews []ReviewRecord, resets []resetRecord) *State {
	r := &TaskRecords{Reviews: reviews, Resets: resets}
	for v := range versions {
		r.Artifacts = append(r.Artifacts, ArtifactRecord{Version: v + 1, Files: "x"})
	}
	return Derive(p, Records{Tasks: map[TaskID]*TaskRecords{"IMPL-1": r}}, nil, noon)
}

// TestFormatVerdicts holds State.verdict against the table of the document: of every two rows whose conditions hold, the
// first gives the verdict.
func TestFormatVerdicts(t *testing.T) {
	type world struct {
		agree    bool
		accepts  bool
		scores   map[string]int // what the seats say; -1: nothing. Scores below 60 reject
		others   []ReviewRecord
		later    bool // somebody rejects after the acceptance
		quorum   int
		approved bool
	}
	conditions := map[string]func(*world){
		"accepted, and a later review that is not a judging task's rejects it": func(w *world) { w.accepts, w.later = true, true },
		"accepted":                                  func(w *world) { w.accepts = true },
		"without agree: a review rejects it":        func(w *world) { w.others = append(w.others, ReviewRecord{0, 1, 70, "bob", Rejected}) },
		"without agree: at least quorum approve it": func(w *world) { w.approved = true },
		"without agree: otherwise":                  func(*world) {},
		"somebody without a seat rejects it": func(w *world) {
			w.others = append(w.others, ReviewRecord{0, 1, 99, "REVIEW-1", Rejected})
		},
		"a seat has not spoken":                                  func(w *world) { w.scores["risk"] = -1 },
		"a seat's score is at or below veto, which is above 0":   func(w *world) { w.scores["product"] = 40 },
		"fewer seats than approvals, or than quorum, approve it": func(w *world) { w.quorum = 3; w.scores["technical"] = 59 },
		"the mean of the seats' scores is below mean":            func(w *world) { w.scores["technical"], w.scores["risk"] = 60, 60 },
		"otherwise": func(*world) {},
	}
	rows := table(t, "first that holds, of a version")
	if len(rows) != len(conditions) {
		t.Fatalf("the table has %d rows, the test knows %d", len(rows), len(conditions))
	}
	for i, first := range rows {
		for _, second := range rows[i:] {
			one, two := conditions[first[0]], conditions[second[0]]
			if one == nil || two == nil {
				t.Fatalf("the test does not know %q or %q", first[0], second[0])
			}
			without := func(s string) bool { return strings.HasPrefix(s, "without agree") }
			if without(second[0]) != without(first[0]) && !strings.HasPrefix(first[0], "accepted") {
				continue // with agree, or without
			}
			w := world{agree: !without(second[0]), quorum: 1, scores: map[string]int{"product": 100, "technical": 100, "risk": 100}}
			if strings.HasPrefix(second[0], "accepted") {
				w.agree = false
			}
			two(&w)
			one(&w)
			check := Task{Reviewers: []string{"product", "technical", "risk", ReviewerChecks}, Quorum: w.quorum, MaxRounds: 1}
			var reviews []ReviewRecord
			add := func(r ReviewRecord) {
				r.N = len(reviews) + 1
				reviews = append(reviews, r)
			}
			if w.agree {
				check.Agree = &Agree{Approvals: 2, Mean: 74, Veto: 40}
				for _, seat := range []string{"product", "technical", "risk"} {
					verdict := Approved
					if w.scores[seat] < 60 {
						verdict = Rejected
					}
					if w.scores[seat] >= 0 {
						add(ReviewRecord{0, 1, w.scores[seat], seat, verdict})
					}
				}
			} else if w.approved {
				add(ReviewRecord{0, 1, 95, "product", Approved})
			}
			for _, r := range w.others {
				add(r)
			}
			if w.accepts {
				check.OnExhausted = onExhaustedAccept
				add(ReviewRecord{0, 1, 50, "checks", Rejected}) // the round is used up
				add(ReviewRecord{0, 1, 50, reviewerAccepted, Approved})
				add(ReviewRecord{0, 1, 50, "REVIEW-1", Rejected})
			}
			if w.later {
				add(ReviewRecord{0, 1, 50, "product", Rejected})
			}
			got, _ := panelState(panelPlan(check), 1, reviews, nil).verdict("IMPL-1", &TaskRecords{Reviews: reviews}, 1)
			want := strings.TrimSuffix(first[1], "awaits review")
			if string(got) != want {
				t.Errorf("%s, and %s: %q, the document says %q; reviews %v", first[0], second[0], got, want, reviews)
			}
		}
	}
}

// panelOracle computes the verdicts from a timeline, as docs/format.md says, another way than State does: it goes
// through the reviews once, in the order in which they were written.
type panelOracle struct {
	check   Task
	max     int
	seen    []ReviewRecord
	since   int
	accepts map[int]int // by version, the number of the acceptance
}

func (o *panelOracle) add(r ReviewRecord) {
	if r.Reviewer == "accepted" && r.Verdict == Approved && o.accepts[r.Version] == 0 && !o.tried(r.Version) &&
		o.check.OnExhausted == "accept" && o.used(r.Version) {
		o.accepts[r.Version] = r.N
	}
	o.seen = append(o.seen, r)
}

func (o *panelOracle) tried(version int) bool {
	return slices.ContainsFunc(o.seen, func(r ReviewRecord) bool {
		return r.Version == version && r.Reviewer == "accepted" && r.Verdict == Approved
	})
}

func (o *panelOracle) used(version int) bool {
	rounds, newest := 0, 0
	for v := 1; v < 10; v++ {
		word, last := o.plain(v)
		if last > 0 {
			newest = v
		}
		if word == "REJECTED" && last > o.since {
			rounds++
		}
	}
	word, _ := o.plain(version)
	return word == "REJECTED" && newest == version && rounds >= o.max
}

// plain is the verdict without acceptances.
func (o *panelOracle) plain(version int) (word string, last int) {
	says := map[string]ReviewRecord{}
	first := map[string]int{}
	for _, r := range o.seen {
		if r.Version != version {
			continue
		}
		last = r.N
		if r.Reviewer == "accepted" {
			continue
		}
		says[r.Reviewer] = r
		if first[r.Reviewer] == 0 {
			first[r.Reviewer] = r.N
		}
	}
	judge := func(n string) bool { return n == "REVIEW-1" }
	if o.check.Agree == nil {
		yes := 0
		for n, r := range says {
			if r.Verdict == Rejected {
				return "REJECTED", last
			}
			if !judge(n) && n != "overtaken" {
				yes++
			}
		}
		if yes > 0 && yes >= max(o.check.Quorum, 1) {
			return "APPROVED", last
		}
		return "", last
	}
	program := []string{"checks", "plan-review", "verdict-review", "decision-review", "accepted", "overtaken"}
	var seated []ReviewRecord
	empty := false
	mine := map[string]bool{}
	person := false
	for _, n := range o.check.Reviewers {
		switch {
		case slices.Contains(program, n) || mine[n]:
		case n == "person":
			person = true
		default:
			mine[n] = true
			if r, ok := says[n]; ok {
				seated = append(seated, r)
			} else {
				empty = true
			}
		}
	}
	if person {
		best := ""
		for n := range says {
			if !slices.Contains(program, n) && !mine[n] && !judge(n) && (best == "" || first[n] < first[best]) {
				best = n
			}
		}
		if best == "" {
			empty = true
		} else {
			mine[best] = true
			seated = append(seated, says[best])
		}
	}
	for n, r := range says {
		if !mine[n] && r.Verdict == Rejected {
			return "REJECTED", last
		}
	}
	if empty || len(seated) == 0 {
		return "", last
	}
	yes, mean := 0, 0.0
	for _, r := range seated {
		if o.check.Agree.Veto > 0 && r.Score <= o.check.Agree.Veto {
			return "REJECTED", last
		}
		if r.Verdict == Approved {
			yes++
		}
		mean += float64(r.Score) / float64(len(seated))
	}
	if yes < o.check.Agree.Approvals || yes < o.check.Quorum || mean < float64(o.check.Agree.Mean)-1e-9 {
		return "REJECTED", last
	}
	return "APPROVED", last
}

func (o *panelOracle) verdict(version int) string {
	word, _ := o.plain(version)
	at := o.accepts[version]
	if at == 0 {
		return word
	}
	says := map[string]Verdict{}
	for _, r := range o.seen {
		if r.Version == version && r.N > at && r.Reviewer != "REVIEW-1" {
			says[r.Reviewer] = r.Verdict
		}
	}
	for _, v := range says {
		if v == Rejected {
			return "REJECTED"
		}
	}
	return "APPROVED"
}

// TestVerdictProperty compares State.verdict with the oracle on timelines of reviews, resets and acceptances, many of
// which nobody may write. What a forged one says must not count.
func TestVerdictProperty(t *testing.T) {
	forged, legal := 0, 0
	property := func(t *rapid.T) {
		check := Task{
			Reviewers: rapid.SampledFrom([][]string{{"a", "b", "c"}, {"a", "checks"}, {"a", "person"}, {"person"}, {"a", "a", "b"}}).
				Draw(t, "reviewers"),
			MaxRounds:   rapid.IntRange(1, 3).Draw(t, "max_rounds"),
			OnExhausted: rapid.SampledFrom([]string{"", "ask", "accept", "accept"}).Draw(t, "on_exhausted"),
			Quorum:      rapid.IntRange(0, 2).Draw(t, "quorum"),
		}
		if rapid.Bool().Draw(t, "agree") {
			check.Agree = &Agree{Approvals: rapid.IntRange(1, 3).Draw(t, "approvals"), Mean: rapid.SampledFrom([]int{0, 40, 50, 60, 80}).Draw(t, "mean"),
				Veto: rapid.SampledFrom([]int{0, 20, 40}).Draw(t, "veto")}
		}
		o := &panelOracle{check: check, max: check.MaxRounds, accepts: map[int]int{}}
		var resets []resetRecord
		versions := 1
		names := []string{"a", "b", "c", "checks", "ann", "bob", "REVIEW-1", "accepted", "accepted", "overtaken"}
		for range rapid.IntRange(0, 14).Draw(t, "events") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				resets = append(resets, resetRecord{N: len(resets) + 1, Review: len(o.seen)})
				o.since = len(o.seen)
			case 1, 2:
				versions = min(versions+1, 4)
			case 3:
				o.add(ReviewRecord{len(o.seen) + 1, versions, 62, "checks", Rejected})
				o.add(ReviewRecord{len(o.seen) + 1, versions, 62, "accepted", Approved})
			default:
				r := ReviewRecord{N: len(o.seen) + 1, Version: versions, Score: rapid.SampledFrom([]int{0, 20, 40, 60, 80, 100}).Draw(t, "score"),
					Reviewer: rapid.SampledFrom(names).Draw(t, "name"), Verdict: Rejected}
				if rapid.IntRange(0, 4).Draw(t, "older") == 0 {
					r.Version = rapid.IntRange(1, versions).Draw(t, "version")
				}
				if r.Reviewer == "accepted" || rapid.IntRange(0, 2).Draw(t, "approves") == 0 {
					r.Verdict = Approved
				}
				o.add(r)
			}
		}
		s := panelState(panelPlan(check), versions, o.seen, resets)
		for v := 1; v <= versions; v++ {
			want := o.verdict(v)
			if got := s.VersionVerdict("IMPL-1", VersionID(v)); string(got) != want {
				t.Fatalf("v%d: %q, the oracle says %q; %+v %+v; reviews %v, resets %v", v, got, want, check, check.Agree, o.seen, resets)
			}
			isAccepted := o.accepts[v] > 0 && want == "APPROVED"
			judged := Rejected
			for _, r := range o.seen {
				if r.Version == v && r.Reviewer == "REVIEW-1" {
					judged = r.Verdict
				}
			}
			delivers := want == "APPROVED" && !isAccepted && judged == Approved
			if s.Accepted("IMPL-1", v) != isAccepted || s.Delivers("IMPL-1", v) != delivers {
				t.Fatalf("v%d: accepted %v, delivers %v", v, s.Accepted("IMPL-1", v), s.Delivers("IMPL-1", v))
			}
			if o.accepts[v] > 0 {
				legal++
			} else if o.tried(v) {
				forged++
			}
		}
		// What is to be accepted is what an acceptance of now would count for.
		for _, due := range s.ToAccept() {
			next := *o
			next.accepts = map[int]int{}
			next.add(ReviewRecord{N: len(o.seen) + 1, Version: due.Active, Reviewer: "accepted", Verdict: Approved})
			if next.accepts[due.Active] == 0 {
				t.Fatalf("v%d is to be accepted, which would not count; %+v; reviews %v, resets %v", due.Active, check, o.seen, resets)
			}
		}
	}
	for range 40 {
		rapid.Check(t, property)
	}
	if forged < 100 || legal < 100 {
		t.Errorf("the timelines had %d forged acceptances, and %d that count", forged, legal)
	}
}

// A plan of version 1 knows nothing of it: who is called accepted is somebody.
func TestVerdictOfVersion1(t *testing.T) {
	p := panelPlan(Task{})
	p.SchemaVersion = 1
	reviews := []ReviewRecord{{1, 1, 95, "accepted", Approved}}
	s := panelState(p, 1, reviews, nil)
	if s.VersionVerdict("IMPL-1", "v1") != Approved || s.Accepted("IMPL-1", 1) || len(s.StandingNotes(s.Tasks["IMPL-1"])) > 0 {
		t.Error("a plan of version 1 is judged by the rules of version 2")
	}
}

func rating(f float64) *float64 { return &f }

func TestRubricScore(t *testing.T) {
	r := Rubric{Scale: 10, Dimensions: map[string]float64{"a": 0.1, "b": 0.2, "c": 0.7}, Veto: 30}
	for _, tt := range []struct {
		given Ratings
		want  int
		wrong string
	}{
		{Ratings{"a": rating(7), "b": rating(7), "c": rating(7)}, 70, ""},
		{Ratings{"a": rating(7.1), "b": nil, "c": nil}, 71, ""},
		{Ratings{"a": rating(10), "b": rating(0), "c": nil}, 33, ""},
		{Ratings{"a": rating(10), "b": rating(10), "c": rating(9.999)}, 99, ""},
		{Ratings{"a": rating(0), "b": rating(0), "c": rating(0)}, 0, ""},
		{Ratings{"a": nil, "b": nil, "c": nil}, 0, "no dimension applies"},
		{Ratings{"a": rating(1), "b": rating(1)}, 0, "c has no rating"},
		{Ratings{"a": rating(1), "b": rating(1), "c": rating(1), "d": rating(1)}, 0, `no dimension "d"`},
		{Ratings{"a": rating(1), "b": rating(1), "c": rating(10.01)}, 0, "from 0 to 10"},
		{Ratings{"a": rating(1), "b": rating(1), "c": rating(math.NaN())}, 0, "from 0 to 10"},
		{Ratings{"a": rating(1), "b": rating(1), "c": rating(math.Inf(1))}, 0, "from 0 to 10"},
	} {
		got, err := r.Scored(tt.given)
		if got != tt.want || fmt.Sprint(err) != "<nil>" && tt.wrong == "" || err == nil && tt.wrong != "" ||
			err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%v: %d, %v", tt.given, got, err)
		}
	}
	if got := r.Vetoed(Ratings{"a": rating(3), "b": rating(3.01), "c": nil}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("vetoed: %v", got)
	}
}

func TestRubricCounts(t *testing.T) {
	r := Rubric{Deductions: map[string]float64{"critical": 25, "low": 0.5}, Limits: map[string]int{"critical": 1}, Pass: 70}
	for _, tt := range []struct {
		given Ratings
		want  int
		veto  string
		wrong string
	}{
		{Ratings{"critical": rating(0), "low": rating(0)}, 100, "", ""},
		{Ratings{"critical": rating(1), "low": rating(1)}, 74, "", ""},
		{Ratings{"critical": rating(2), "low": rating(0)}, 50, "critical", ""},
		{Ratings{"critical": rating(4), "low": rating(1)}, 0, "critical", ""},
		{Ratings{"critical": rating(1000), "low": rating(1000)}, 0, "critical", ""},
		{Ratings{"critical": rating(0)}, 0, "", "low has no rating"},
		{Ratings{"critical": rating(0), "low": nil}, 0, "", "low: a rating is the number of findings"},
		{Ratings{"critical": rating(0), "low": rating(0.5)}, 0, "", "from 0 to 1000, found 0.5"},
		{Ratings{"critical": rating(0), "low": rating(-1)}, 0, "", "found -1"},
		{Ratings{"critical": rating(0), "low": rating(1001)}, 0, "", "found 1001"},
		{Ratings{"critical": rating(0), "low": rating(math.NaN())}, 0, "", "found NaN"},
		{Ratings{"critical": rating(0), "low": rating(math.Inf(1))}, 0, "", "found +Inf"},
		{Ratings{"critical": rating(0), "low": rating(0), "high": rating(0)}, 0, "", `no dimension "high"`},
	} {
		got, err := r.Scored(tt.given)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%v: %d, %v", tt.given, got, err)
		}
		if veto := r.VetoText(tt.given); err == nil && (veto == "") != (tt.veto == "") || !strings.HasSuffix(veto, tt.veto) {
			t.Errorf("%v: %s", tt.given, veto)
		}
	}
}

// More findings never give a higher score, nor take a veto back, and a count that is no whole number gives none.
func TestRubricMoreFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rubric{Deductions: map[string]float64{}, Limits: map[string]int{}}
		few, more := Ratings{}, Ratings{}
		for i := range rapid.IntRange(1, 6).Draw(t, "classes") {
			name := fmt.Sprintf("c%d", i)
			r.Deductions[name] = rapid.Float64Range(0, 1000).Draw(t, "deduction")
			if rapid.Bool().Draw(t, "limited") {
				r.Limits[name] = rapid.IntRange(0, 10).Draw(t, "limit")
			}
			n := rapid.IntRange(0, mostFindings).Draw(t, "few")
			few[name], more[name] = rating(float64(n)), rating(float64(rapid.IntRange(n, mostFindings).Draw(t, "more")))
		}
		score, err := r.Scored(few)
		less, lessErr := r.Scored(more)
		if err != nil || lessErr != nil || less > score || less < 0 || score > 100 {
			t.Fatalf("%d (%v), with more findings %d (%v)", score, err, less, lessErr)
		}
		for _, name := range r.Vetoed(few) {
			if !slices.Contains(r.Vetoed(more), name) {
				t.Fatalf("%s is a veto no more", name)
			}
		}
	})
}

// Re-weighting: what a dimension that does not apply leaves is as if the rubric had never had it.
func TestRubricReweighting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rubric{Scale: rapid.IntRange(1, 1000).Draw(t, "scale"), Dimensions: map[string]float64{}}
		less := Rubric{Scale: r.Scale, Dimensions: map[string]float64{}}
		given, left := Ratings{}, Ratings{}
		for i := range rapid.IntRange(1, 6).Draw(t, "dimensions") {
			name := fmt.Sprintf("d%d", i)
			r.Dimensions[name] = rapid.Float64Range(0, 1e6).Draw(t, "weight")
			given[name] = nil
			if rapid.Bool().Draw(t, "applies") {
				given[name] = rating(rapid.Float64Range(0, float64(r.Scale)).Draw(t, "rating"))
				less.Dimensions[name], left[name] = r.Dimensions[name], given[name]
			}
		}
		score, err := r.Scored(given)
		other, otherErr := less.Scored(left)
		if score != other || (err == nil) != (otherErr == nil) || score < 0 || score > 100 {
			t.Fatalf("%d (%v) and %d (%v)", score, err, other, otherErr)
		}
	})
}
