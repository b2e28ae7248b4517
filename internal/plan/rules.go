package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/relpath"
)

// What a record may say is one function, RecordKind.Check: whoever writes, takes, audits or believes a record calls it.
// docs/format.md, section 5, has the rules.

// Setting is what a record is held against: the plan that it was made under, and what lies beside it.
type Setting struct {
	State *State // of that plan, whatever its records
	Since bool   // the plan may have been changed since; the record says what it was judged by
	Task  TaskID // whose record it is, "" for one of the plan
	Name  string // below the task's directory, or at the top
	By    string // whose the event is; "" where that is not known, or others speak in it

	Tree   func(id TaskID, version int) OID // of a version's files, "" for none
	Waived func(version int, criterion string) bool
	Says   func(name string) any // what another document of the task says (Brief); nil for what is not there
	Beside func(name string) OID // what else there is below the task's directory, "" for nothing
	// those of a version, without hashes and sizes, if a prune has not taken them; nil: they are not looked at
	Files func(version int) (files []FileInfo, here bool)
}

// content is what the format says of the documents of a kind.
type content struct {
	rules []string // as docs/format.md has them
	read  func(data []byte) (document any, err error)
	check func(document any, in *Setting) (brief any, why string)
}

// rule is one rule about a document: what docs/format.md says, and how a document breaks it, "" if it does not.
type rule[T any] struct {
	text   string
	broken func(d *T, in *Setting) string
}

// contentOf is the content of a kind whose documents are T: where they belong, and the rules of what they say.
func contentOf[T any](says func(*T) said, rules ...rule[T]) content {
	c := content{
		read: func(data []byte) (any, error) { d := new(T); return d, json.Unmarshal(data, d) },
		check: func(document any, in *Setting) (any, string) {
			d := document.(*T)
			s := says(d)
			why := s.elsewhere(in)
			for i := 0; why == "" && i < len(rules); i++ {
				why = rules[i].broken(d, in)
			}
			if why == "" {
				why = s.unsigned(in)
			}
			return s.Brief, why
		},
	}
	for _, r := range rules {
		c.rules = append(c.rules, r.text)
	}
	return c
}

// Check says why a document can't be the record that the setting names, "" if it can; and what it says that documents
// of other kinds are held against, nil for nothing.
func (k *RecordKind) Check(data []byte, in *Setting) (brief any, why string) {
	d, err := k.Content.read(data)
	if err != nil {
		return nil, "is no such document: " + err.Error()
	}
	return k.Content.check(d, in)
}

// CheckRead is Check of a document that was read: a *Review of reviews, and so on.
func (k *RecordKind) CheckRead(document any, in *Setting) (why string) {
	_, why = k.Content.check(document, in)
	return why
}

// everyRule are the rules about the documents of all kinds. said has what they need.
var everyRule = []string{
	"it says what its name and the object ids beside it say, and is whole",
	"it names somebody as who it is by, of a version, a review and an attempt who made the commit; `created_at` is a time in UTC, in whole seconds",
}

// unsigned says why nobody can have made a document.
func (s said) unsigned(in *Setting) string {
	_, zone := s.At.Zone()
	switch {
	case s.By == "":
		return "does not say who it is by"
	case s.Agent && in.By != "" && in.By != s.By:
		return fmt.Sprintf("is by %s, and the event by %s", strconv.Quote(s.By), strconv.Quote(in.By))
	}
	return unless(!s.At.IsZero() && zone == 0 && s.At.Equal(Second(s.At)), "created_at is no time in UTC, in whole seconds")
}

// elsewhere says where a document differs from its name and what lies beside it.
func (s said) elsewhere(in *Setting) string {
	version := VersionNumber(s.Version)
	switch tree := in.Tree(in.Task, version); {
	case !s.NoTask && s.Task != in.Task && !(s.OfCheck && in.isCheck(s.Task)):
		return fmt.Sprintf("speaks of %q, not of %s", string(s.Task), in.Task)
	case s.Name != "" && !s.Fits(in.Name):
		return "does not say what its name says"
	case s.Version != "" && tree != s.Tree:
		return fmt.Sprintf("speaks of the tree %.12s, but %s has %.12s", s.Tree, s.Version, tree)
	}
	if s.Filed {
		switch tree := in.Beside(strings.TrimSuffix(in.Name, ".json") + "/files"); {
		case tree == "":
			return "its file is not there"
		case tree != s.Holds:
			return fmt.Sprintf("speaks of the tree %.12s, but its file is in %.12s", s.Holds, tree)
		}
	}
	for _, name := range s.Beside {
		if in.Beside(name) == "" {
			return fmt.Sprintf("names %s, which is not there", strconv.Quote(name))
		}
	}
	if !s.Listed || in.Files == nil {
		return ""
	}
	files, whole := in.Files(version)
	if !whole {
		return ""
	}
	here := make(map[string]FileInfo, len(files))
	for _, f := range files {
		here[f.Path] = f
	}
	for _, f := range s.Files {
		if is, ok := here[f.Path]; !ok || is.OID != f.OID || is.Mode != f.Mode {
			return fmt.Sprintf("lists %s, which files/ does not have so", strconv.Quote(f.Path))
		}
	}
	if len(s.Files) != len(here) {
		return fmt.Sprintf("lists %s, and files/ has %d", plain.Count(len(s.Files), "file"), len(here))
	}
	return ""
}

// task is whose record it is; nil for one of the plan, or that the plan does not have.
func (in *Setting) task() *TaskState { return in.State.Tasks[in.Task] }

func (in *Setting) isCheck(id TaskID) bool {
	t := in.State.Tasks[id]
	return id == in.Task.CheckID() || t != nil && t.NodeType == Check && t.ReviewTargetTaskID == in.Task
}

// comparable reports whether what was judged by a spec and criteria can be compared with the task's: those may have
// been changed since, or the task may be gone.
func (in *Setting) comparable(specHash string) bool {
	t := in.task()
	return t != nil && (!in.Since || specHash == t.SpecHash())
}

// unless is a reason that holds unless a condition does.
func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

var artifactRules = []rule[Artifact]{
	{"each of `inputs[]` is a version of another task, and has its tree", func(d *Artifact, in *Setting) string {
		for _, x := range d.Inputs {
			if in.Tree(x.TaskID, VersionNumber(x.ArtifactID)) != x.Tree || x.Tree == "" || x.TaskID == d.TaskID {
				return fmt.Sprintf("is made from %s %s with the tree %.12s, which there is not", x.TaskID, x.ArtifactID, x.Tree)
			}
		}
		return ""
	}},
	{"`files[]` have paths as section 2 says, of a change below `a/` and `b/`", func(d *Artifact, in *Setting) string {
		for _, f := range d.Files {
			if t := in.task(); t != nil && t.Changes() {
				if !strings.HasPrefix(f.Path, "a/") && !strings.HasPrefix(f.Path, "b/") {
					return fmt.Sprintf("%s is on neither side of the change", strconv.Quote(f.Path))
				}
			} else if err := relpath.Check(f.Path); err != nil {
				return fmt.Sprintf("%s: %v", strconv.Quote(f.Path), err)
			}
		}
		return ""
	}},
	{"`base` is there where the task changes the repository, and only there", func(d *Artifact, in *Setting) string {
		t := in.task()
		return unless(t == nil || t.Changes() == (d.Base != nil), "a base is what a change has, and nothing else")
	}},
}

var reviewRules = []rule[Review]{
	{"`verdict` is `APPROVED` or `REJECTED`, `score` from 0 to 100", func(d *Review, in *Setting) string {
		return unless((d.Verdict == Approved || d.Verdict == Rejected) && d.Score >= 0 && d.Score <= 100,
			"verdict %q with score %d is neither an approval nor a rejection", string(d.Verdict), d.Score)
	}},
	{"`check_task_id` is the task's CHECK", func(d *Review, in *Setting) string {
		return unless(in.Since || in.isCheck(d.CheckTaskID), "%s is not its CHECK", d.CheckTaskID)
	}},
	{"`spec_hash` is the task's", func(d *Review, in *Setting) string {
		return unless(in.Since || in.comparable("") && d.SpecHash == in.task().SpecHash(),
			"its criteria changed while it was reviewed")
	}},
	{"`criteria[]` has each criterion of the task once, with its severity, and no other", func(d *Review, in *Setting) string {
		if !in.comparable(d.SpecHash) {
			return unless(len(d.Criteria) > 0, "0 results for its criteria")
		}
		for _, c := range in.task().AcceptanceCriteria {
			if !slices.ContainsFunc(d.Criteria, func(x CriterionResult) bool { return x.ID == c.ID && x.Severity == c.Severity }) {
				return fmt.Sprintf("criterion %s has no result", c.ID)
			}
		}
		n := len(in.task().AcceptanceCriteria)
		return unless(len(d.Criteria) == n, "%d results for %d criteria", len(d.Criteria), n)
	}},
	{"each `result` is one of those of `criteria[]`", func(d *Review, _ *Setting) string { return badResult(d.Criteria) }},
	{"what is `waived` has a waiver", func(d *Review, in *Setting) string {
		for _, c := range d.Criteria {
			if c.Result == ResultWaived && in.Waived != nil && !in.Waived(VersionNumber(d.ReviewedArtifactID), c.ID) {
				return fmt.Sprintf("%s is waived, and nobody waived it", c.ID)
			}
		}
		return ""
	}},
	{"an approval has every MUST passed or waived", func(d *Review, in *Setting) string {
		return unless(d.Verdict == Rejected || d.accepts(in) || len(d.FailedMust()) == 0, "can't be approved: %s not passed",
			strings.Join(d.FailedMust(), ", "))
	}},
	{"`min_score` is what the CHECK asks for", func(d *Review, in *Setting) string {
		if in.Since || d.JudgedBy != nil || in.task() == nil {
			return ""
		}
		least := in.State.MinScore(in.Task)
		return unless(d.MinScore == least, "min_score is %d, and the CHECK asks for %d", d.MinScore, least)
	}},
	{"an approval has a `score` of at least `min_score`", func(d *Review, in *Setting) string {
		return unless(d.Verdict == Rejected || d.accepts(in) || d.Score >= d.MinScore,
			"can't be approved with score %d: at least %d is needed", d.Score, d.MinScore)
	}},
	{"with a rubric, the `score` follows from the `ratings`, and without one there are none", func(d *Review, in *Setting) string {
		if in.Since || d.accepts(in) || in.task() == nil {
			return ""
		}
		by := in.State.RubricOf(in.Task)
		if d.JudgedBy != nil {
			by = in.State.RubricOfJudge(TaskID(d.Reviewer))
		}
		if err := d.rated(by); err != nil {
			return err.Error()
		}
		return ""
	}},
	{"the reviewer may review the task (section 7)", func(d *Review, in *Setting) string {
		t := in.task()
		if in.Since || t == nil || d.accepts(in) || d.Reviewer == reviewerOvertook && d.Verdict == Rejected ||
			d.JudgedBy != nil && in.State.judges(d.Reviewer) || in.State.conflicts(t, *d) ||
			d.Reviewer != reviewerOvertook && in.State.MayReview(in.Task, d.Reviewer) {
			return ""
		}
		return fmt.Sprintf("%s is not among its reviewers (%s)", plain.Line(d.Reviewer),
			plain.Line(strings.Join(in.State.Reviewers(in.Task), ", ")))
	}},
	{"`agent` is who spoke for a seat, or judged, and is there for nobody else", func(d *Review, in *Setting) string {
		return unless(in.Since || d.JudgedBy != nil || (d.Agent != "") == in.State.isSeat(in.Task, d.Reviewer),
			"a review in a seat names the role and who speaks for it; this one names %q and %q", d.Reviewer, d.Agent)
	}},
	{"`session` is not the one that made the version", func(d *Review, in *Setting) string {
		made := in.made(d.ReviewedArtifactID)
		return unless(made == nil || d.Session == "" || d.Session != made.Session,
			"the session that made %s can't review it", d.ReviewedArtifactID)
	}},
	{"`self_reviewed` is there where who approves made the version", func(d *Review, in *Setting) string {
		made := in.made(d.ReviewedArtifactID)
		return unless(made == nil || d.SelfReviewed || d.By() != made.Agent || d.Verdict == Rejected || d.JudgedBy != nil,
			"%s made %s, and the review does not say so", plain.Line(d.By()), d.ReviewedArtifactID)
	}},
	{"`judged_by` names a version of the reviewer, which judges; `cause` is there with it alone", func(d *Review, in *Setting) string {
		return unless(d.JudgedBy == nil && d.Cause == "" || d.JudgedBy != nil && string(d.JudgedBy.TaskID) == d.Reviewer &&
			(in.Since || in.State.judges(d.Reviewer)), "%s judges nothing", plain.Line(d.Reviewer))
	}},
}

// accepts reports whether a review takes a version as it is, whatever it came to (section 7).
func (r Review) accepts(in *Setting) bool { return r.Taken() && in.State.Plan.SchemaVersion > 1 }

// made is what artifact.json says of the version that a record is about; nil where it can't be read.
func (in *Setting) made(version string) *Artifact {
	if in.Says == nil {
		return nil
	}
	a, _ := in.Says("artifacts/" + version + "/artifact.json").(*Artifact)
	return a
}

// badResult says which result is none.
func badResult(results []CriterionResult) string {
	for _, c := range results {
		switch c.Result {
		case ResultPass, ResultFail, ResultWaived, ResultNotJudged:
		default:
			return fmt.Sprintf("%s: %q is no result", plain.Line(c.ID), c.Result)
		}
	}
	return ""
}

var checkRules = []rule[Checked]{
	{"`spec_hash` is the task's", func(d *Checked, in *Setting) string {
		return unless(in.Since || in.comparable("") && d.SpecHash == in.task().SpecHash(), "its criteria changed while they ran")
	}},
	{"`criteria[]` are some of the task's, none twice, with their severity", func(d *Checked, in *Setting) string {
		for i, x := range d.Criteria {
			of := func(c Criterion) bool { return c.ID == x.ID && c.Severity == x.Severity }
			if in.comparable(d.SpecHash) && !slices.ContainsFunc(in.task().AcceptanceCriteria, of) ||
				slices.ContainsFunc(d.Criteria[:i], func(y CriterionResult) bool { return x.ID == y.ID }) {
				return fmt.Sprintf("%s is no criterion of the task, or there twice", plain.Line(x.ID))
			}
		}
		return ""
	}},
	{"each `result` is one of those of `criteria[]`", func(d *Checked, _ *Setting) string { return badResult(d.Criteria) }},
}

var attemptRules = []rule[Attempt]{
	{"`task_id` is the CHECK where the name has a version, else the ACTION", func(d *Attempt, in *Setting) string {
		ofVersion := strings.Contains(in.Name, "-v")
		return unless(ofVersion != (d.TaskID == in.Task), "an attempt of %s, where that of a CHECK has a version", d.TaskID)
	}},
}

var questionRules = []rule[Question]{
	{"`name` and `question` say something", func(d *Question, _ *Setting) string {
		return unless(d.Name != "" && strings.TrimSpace(d.Question) != "", "asks nothing")
	}},
	{"`kind` is one of these, and a choice has `options[]`", func(d *Question, _ *Setting) string {
		return unless(d.Kind == AskText || d.Kind == AskFile || d.Kind == AskChoice && len(d.Options) > 0,
			"asks for %q, or for a choice of nothing", d.Kind)
	}},
	{"`recommended_option_id` is one of `options[]`", func(d *Question, _ *Setting) string {
		return unless(d.RecommendedOptionID == "" || d.has(d.RecommendedOptionID), "recommends %q, which it does not offer",
			d.RecommendedOptionID)
	}},
}

func (q Question) has(option string) bool {
	return slices.ContainsFunc(q.Options, func(o Option) bool { return o.OptionID == option })
}

var answerRules = []rule[Answer]{
	{"it answers with what the question asks for", func(d *Answer, in *Setting) string {
		if in.Says == nil {
			return ""
		}
		q, _ := in.Says("questions/" + d.QuestionID + ".json").(*Question)
		return unless(q != nil, "answers no question") + q.misses(d)
	}},
}

// misses says how an answer misses what was asked for, "" if it does not.
func (q *Question) misses(a *Answer) string {
	switch {
	case q == nil:
	case q.Kind == AskChoice && !q.has(a.OptionID):
		ids := make([]string, len(q.Options))
		for i, o := range q.Options {
			ids[i] = plain.Line(o.OptionID)
		}
		return fmt.Sprintf("%s wants one of the options %v", a.QuestionID, ids)
	case q.Kind != AskChoice && a.OptionID != "":
		return fmt.Sprintf("%s has no options to choose from; it asks for a %s", a.QuestionID, q.form())
	case q.Kind == AskFile && len(a.Inputs) == 0:
		return a.QuestionID + " asks for a file"
	case q.form() == AskText && a.Text == "" && len(a.Inputs) == 0:
		return a.QuestionID + " asks for a text"
	}
	return ""
}

var inputRules = []rule[InputDocument]{
	{"`file_name` is one name, as section 2 says; `sha256` is one", func(d *InputDocument, _ *Setting) string {
		err := relpath.Check(d.FileName)
		return unless(err == nil && !strings.Contains(d.FileName, "/") && len(d.SHA256) == 64 &&
			strings.Trim(d.SHA256, "0123456789abcdef") == "", "%q with the hash %q is no file", d.FileName, d.SHA256)
	}},
}

var waiverRules = []rule[WaiverDocument]{
	{"`criterion` is one of the task's", func(d *WaiverDocument, in *Setting) string {
		t := in.task()
		return unless(in.Since || t != nil && slices.ContainsFunc(t.AcceptanceCriteria, func(c Criterion) bool {
			return c.ID == d.Criterion
		}), "has no criterion %q", d.Criterion)
	}},
	{"there is a `reason`", func(d *WaiverDocument, _ *Setting) string { return unless(d.Reason != "", "a waiver needs a reason") }},
}

var markRules = []rule[Decision]{
	{"what is abandoned has a `reason`", func(d *Decision, in *Setting) string {
		return unless(d.Reason != "" || !strings.HasSuffix(in.Name, "-"+markAbandoned+".json"), "giving it up needs a reason")
	}},
}

var landingRules = []rule[Landing]{
	{"the task changes the repository", func(d *Landing, in *Setting) string {
		t := in.task()
		return unless(in.Since || t != nil && t.Changes(), "changes nothing that could land on a branch")
	}},
	{"there is a `branch`, and either a `commit` or a `reason`", func(d *Landing, _ *Setting) string {
		return unless(d.Branch != "" && (d.Commit == "") != (d.Reason == ""),
			"a landing has a branch, and a commit, or a reason why there is none")
	}},
	{"each `result` is one of those of `criteria[]`", func(d *Landing, _ *Setting) string { return badResult(d.Criteria) }},
}

var actRules = []rule[actDocument]{
	{"`schema_version` is 1", func(d *actDocument, _ *Setting) string {
		return unless(d.SchemaVersion == 1, "schema_version is %d", d.SchemaVersion)
	}},
}

var orderRules = []rule[Order]{
	{"`schema_version` is 1", func(d *Order, _ *Setting) string {
		return unless(d.SchemaVersion == 1, "schema_version is %d", d.SchemaVersion)
	}},
}

var sessionRules = []rule[CompletionDocument]{
	{"`plan_id` of what is completed is the plan's", func(d *CompletionDocument, in *Setting) string {
		return unless(d.PlanID == in.State.Plan.PlanID || !strings.HasSuffix(in.Name, "-"+eventCompleted+".json"),
			"completes %q", string(d.PlanID))
	}},
}

var doctorRules = []rule[Mend]{
	{"`mended[]` says what and where", func(d *Mend, _ *Setting) string {
		return unless(len(d.Mended) > 0 && !slices.ContainsFunc(d.Mended, func(m Mended) bool {
			return m.Code == "" || m.Place == "" || m.Did == ""
		}), "doctor has put nothing right")
	}},
}

var pruneRules = []rule[PruneDocument]{
	{"`plan_id` is the plan's, `keep` at least 1", func(d *PruneDocument, in *Setting) string {
		return unless(d.PlanID == in.State.Plan.PlanID && d.Keep > 0 && isID(string(d.Archive)), "prunes nothing of this plan")
	}},
}

// objectContent is that of a document which only its event can judge: a JSON object.
var objectContent = content{
	read:  func(data []byte) (any, error) { var d map[string]any; return d, json.Unmarshal(data, &d) },
	check: func(any, *Setting) (any, string) { return nil, "" },
}

// noteContent is the content of a note, which is no JSON: what the program itself wrote has no head, and no rule.
var noteContent = content{
	rules: []string{"a head names who wrote it and when; the text behind it says something, in at most 8 KiB"},
	read:  func(data []byte) (any, error) { return data, nil },
	check: func(document any, _ *Setting) (any, string) {
		data := document.([]byte)
		if !strings.HasPrefix(string(data), noteFence) {
			return nil, ""
		}
		n := noteRecord{}.Read(data)
		return nil, unless(n.By != "" && !n.CreatedAt.IsZero() && strings.TrimSpace(n.Text) != "" && len(n.Text) <= maxNote,
			"is no note of somebody's, with a text of at most %d bytes", maxNote)
	},
}

// SplitPath divides a path of a plan's tree into the task and the name below its directory.
func SplitPath(path string) (task TaskID, name string, ok bool) {
	below, ok := strings.CutPrefix(path, "tasks/")
	_, below, fanned := strings.Cut(below, "/")
	id, name, found := strings.Cut(below, "/")
	if !ok || !fanned || !found {
		return "", path, false
	}
	task = TaskID(id)
	return task, name, task.Valid() && task.Dir() == path[:len(path)-len("/")-len(name)]
}

// RulesID changes with the rules: what was found sound by others is looked at again.
var RulesID = sync.OnceValue(func() string {
	texts := slices.Clone(everyRule)
	for _, k := range kindTable().list {
		texts = append(append(texts, k.Dir), k.Content.rules...)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(texts, "\n"))))
})

// RulesOf is the kind of the document that has rules at a path of a plan's tree; nil where there is none.
func RulesOf(name string, ofTask bool) *RecordKind {
	dir, rest, _ := strings.Cut(name, "/")
	k := KindOf(dir, !ofTask)
	if k == nil || k.Content.check == nil || strings.Contains(rest, "/files/") ||
		!strings.HasSuffix(name, k.Forms[0].Text[strings.LastIndexByte(k.Forms[0].Text, '.'):]) || !k.Known(rest) {
		return nil
	}
	return k
}

// Decide applies an event to a state, and holds each record that it would add against the rules of its kind.
func Decide(ev Event, s *State) (Change, error) {
	c, err := ev.Apply(s)
	if err != nil {
		return Change{}, err
	}
	added := make(map[string]OID, len(c.Add))
	for _, e := range c.Add {
		added[e.Path] = cmp.Or(e.OID, "new")
	}
	in := Setting{State: s, Tree: func(id TaskID, version int) OID {
		v, _ := s.Records.Of(id).Version(version)
		return cmp.Or(added[id.Dir()+"/"+ArtifactRecord{Version: version}.FilesPath()], v.Files)
	}}
	if c.Plan != nil {
		in.State = Derive(c.Plan, Records{}, nil, time.Time{})
	}
	for _, e := range c.Add {
		task, name, ofTask := SplitPath(e.Path)
		k, dir := RulesOf(name, ofTask), strings.TrimSuffix(e.Path, name)
		if k == nil || e.OID != "" || e.Replaces != "" {
			continue
		}
		in.Task, in.Name = task, name
		in.Says = func(name string) any { return c.Beside[dir+name] }
		in.Beside = func(name string) OID { return added[dir+name] }
		in.Waived = func(version int, criterion string) bool {
			end := fmt.Sprintf("-%s-%s.json", VersionID(version), EscapeName(criterion))
			return s.Records.Of(task).Waived(version, criterion) || slices.ContainsFunc(c.Add, func(e Entry) bool {
				return strings.HasPrefix(e.Path, dir+"waivers/") && strings.HasSuffix(e.Path, end)
			})
		}
		switch _, why := k.Check(e.Data, &in); {
		case why != "" && task == "":
			return Change{}, s.refuseSession(why, "")
		case why != "":
			return Change{}, refuse(task, "%s", why)
		}
	}
	return c, nil
}
