package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/each"
)

// ApplyVerdicts lets the approved verdicts of judges take effect, once: a review of each task that they judge, and
// what they ask the user. Judges that judge a common task are applied together.
type ApplyVerdicts struct {
	Judges []TaskID // State.Together of the first
	// what the verdicts come to in the state that they are applied to: reviews, whose ReviewID and CheckTaskID Apply
	// assigns, and questions. It fails if they can't take effect any more.
	Make   func(*State) ([]Review, []Question, error)
	Render func(Review) []byte // makes the review file
	Time   time.Time
}

// Apply is refused unless the judges' newest versions are approved and have had no effect, and every version that they
// name is its task's approved one.
func (e ApplyVerdicts) Apply(s *State) (Change, error) {
	lead := e.Judges[0]
	if due := s.Together(lead); !slices.Equal(due, e.Judges) {
		return Change{}, refuse(lead, "its verdicts are not to be applied, or not with those of %s alone",
			JoinIDs(e.Judges))
	}
	reviews, asks, err := e.Make(s)
	if err != nil {
		return Change{}, err
	}
	w := actWriter{state: s, judges: e.Judges, render: e.Render, next: map[TaskID]int{}}
	for _, rev := range reviews {
		if err := w.addReview(rev); err != nil {
			return Change{}, err
		}
	}
	asked := map[TaskID]int{}
	for _, q := range asks {
		w.add = append(w.add, q.entry(s.Records.Of(q.TaskID).nextQuestion()+asked[q.TaskID]))
		asked[q.TaskID]++
	}
	version := VersionID(s.Tasks[lead].Active)
	return Change{
		Subject:  w.subject(),
		Body:     strings.Join(w.lines, "\n"),
		Trailers: trailers(EventVerdicts, lead, "Wf-Artifact", version, "Wf-Agent", ReviewerVerdicts),
		Author:   Actor{ReviewerVerdicts, ReviewerVerdicts + agentDomain},
		Add:      s.addActs(w.add, actVerdicts, ReviewerVerdicts, Second(e.Time), e.Judges...),
	}, nil
}

// actWriter gathers what an act adds.
type actWriter struct {
	state    *State
	judges   []TaskID
	render   func(Review) []byte
	next     map[TaskID]int // the number of the next review
	add      []Entry
	lines    []string // for people, one for each verdict
	approved int
	rejected []string
}

// addReview adds the review that a verdict is.
func (w *actWriter) addReview(rev Review) error {
	t, err := w.state.actionNamed(rev.TaskID)
	if err != nil {
		return err
	}
	judge := TaskID(rev.Reviewer)
	r, check := w.state.Records.Of(t.TaskID), w.state.CheckOf(t.TaskID)
	version := VersionNumber(rev.ReviewedArtifactID)
	a, ok := r.Version(version)
	switch by := rev.JudgedBy; {
	case by == nil || by.TaskID != judge || !slices.Contains(w.judges, judge) ||
		by.ArtifactID != VersionID(w.state.Tasks[judge].Active):
		return refuse(t.TaskID, "is judged by no version that is applied")
	case !slices.Contains(w.state.Judged(judge), t.TaskID):
		return refuse(t.TaskID, "%s does not judge it", judge)
	case !ok || check == nil || version != t.Approved || a.Files != rev.Tree:
		return refuse(t.TaskID, "%s is not its approved version", rev.ReviewedArtifactID)
	}
	n := max(w.next[t.TaskID], nextNumber(r.Reviews))
	w.next[t.TaskID] = n + 1
	rec := ReviewRecord{n, version, rev.Score, EscapeName(rev.Reviewer), rev.Verdict}
	rev.ReviewID, rev.CheckTaskID = "r"+strconv.Itoa(n), check.TaskID
	dir := t.TaskID.Dir() + "/"
	w.add = append(w.add, Entry{Path: dir + rec.Text(), Data: w.render(rev)},
		Entry{Path: dir + rec.Path(), Data: Document(rev)})
	text := fmt.Sprintf("%s %s", t.TaskID, strings.ToLower(string(rev.Verdict)))
	if rev.Verdict == Approved {
		w.approved++
	} else {
		text += ", cause " + rev.Cause
		w.rejected = append(w.rejected, text)
	}
	w.lines = append(w.lines, fmt.Sprintf("%s %s: %s", judge, rev.JudgedBy.ArtifactID, text))
	return nil
}

// subject is the line for people: every rejection, as far as there is room, and how many are approved.
func (w *actWriter) subject() string {
	names := each.Of(w.judges, func(id TaskID) string {
		return fmt.Sprintf("%s %s", id, VersionID(w.state.Tasks[id].Active))
	})
	const most = 3
	said := slices.Clone(w.rejected)
	if more := len(said) - most; more > 0 {
		said = append(said[:most], fmt.Sprintf("%d more rejected", more))
	}
	if w.approved > 0 || len(said) == 0 {
		said = append(said, fmt.Sprintf("%d approved", w.approved))
	}
	applied := strings.TrimPrefix(strings.Join(names, ", "), string(w.judges[0])+" ")
	return fmt.Sprintf("%s: %s applied: %s", w.judges[0], applied, strings.Join(said, "; "))
}

// Together lists, in plan order, the judges whose approved verdicts take effect in one event with those
// of a judge: all that judge a task in common with it. It leaves out judges that have judged the same
// versions already, that wait for other verdicts themselves, or that only an order or a person can set
// going. It is nil while one of them has no approved verdicts yet: otherwise the outcome would depend
// on who is faster.
func (s *State) Together(judge TaskID) []TaskID {
	group := []TaskID{judge}
	for i := 0; i < len(group); i++ {
		t := s.Tasks[group[i]]
		if t == nil || t.Judges == nil || t.Status != StatusReadyToCheck || t.Verdict != Approved {
			return nil
		}
		for _, id := range s.Judged(t.TaskID) {
			for _, other := range s.JudgesOf(id) {
				if !slices.Contains(group, other) && s.waitsForJudge(other) {
					group = append(group, other)
				}
			}
		}
	}
	slices.SortFunc(group, func(a, b TaskID) int { return s.Place(a) - s.Place(b) })
	return group
}

// waitsForJudge reports whether other verdicts have to wait for this judge's. They do not if it waits
// for verdicts itself.
func (s *State) waitsForJudge(judge TaskID) bool {
	t := s.Tasks[judge]
	return t.Status != StatusDone && !t.stuck && !slices.ContainsFunc(s.ToApply(), func(due *TaskState) bool {
		return due.Judges != nil && s.comesAfter(judge, due.TaskID, map[TaskID]bool{})
	})
}

// comesAfter reports whether a task depends on another, directly or not.
func (s *State) comesAfter(id, other TaskID, seen map[TaskID]bool) bool {
	t := s.Tasks[id]
	if t == nil || seen[id] {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(s.resolveGoals(t.DependsOn), func(in TaskID) bool {
		return in == other || s.comesAfter(in, other, seen)
	})
}

// Mode is the mode that a version of a judge was made under, "" for the usual one.
func (s *State) Mode(id TaskID, version int) string { return s.Records.Of(id).mode(version) }

// Outdated lists the inputs of a version that have changed since it was made, with the version of each
// that it was made from.
func (s *State) Outdated(id TaskID, version int) map[TaskID]int {
	stale := map[TaskID]int{}
	for _, l := range s.staleInputs(s.Tasks[id], version) {
		stale[l.Task] = l.Of
	}
	return stale
}

// Overtaken is the rejection of a version that can no longer take effect. It counts towards no limit.
func (r Review) Overtaken() Review {
	r.Reviewer, r.Verdict = reviewerOvertook, Rejected
	return r
}

// Judges reports whether a name is that of a task that judges others.
func (p *Plan) Judges(name string) bool {
	t := p.Task(TaskID(name))
	return t != nil && t.Judges != nil
}

// CountVerified counts the deliverables that are verified, and those that are merely done; judged is false in a plan
// without judges.
func (s *State) CountVerified() (verified, done int, judged bool) {
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		switch {
		case s.Verified(id):
			verified++
		case s.Tasks[id].Status == StatusDone:
			done++
		}
	}
	return verified, done, len(s.judging) > 0
}

// VerifiedLine says CountVerified for people; "" in a plan without judges.
func (s *State) VerifiedLine() string {
	verified, done, judged := s.CountVerified()
	switch {
	case !judged:
		return ""
	case done == 0:
		return fmt.Sprintf(", verified %d", verified)
	}
	return fmt.Sprintf(", verified %d, done %d", verified, done)
}
