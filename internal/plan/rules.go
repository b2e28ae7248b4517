package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/relpath"
)

// What a record may say is one function, RecordKind.Check: whoever writes, takes, audits or believes a record calls it.
// docs/format/records.md lists the rules.

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
	rules []string // as docs/format/records.md has them
	read  func(data []byte) (document any, err error)
	check func(document any, in *Setting) (brief any, why string)
}

// rule is one rule about a document: what the rule says, and how a document breaks it, "" if it does not.
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
			why := s.placeProblem(in)
			for i := 0; why == "" && i < len(rules) && (in.Task == "" || in.task() != nil); i++ {
				if why = rules[i].broken(d, in); why == ruleText {
					why = "breaks the rule: " + strings.ReplaceAll(rules[i].text, "`", "")
				}
			}
			return s.Brief, cmp.Or(why, s.authorProblem(in))
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
	"it names somebody as who it is by, of a version, a review and an attempt who made the commit; `created_at` is a " +
		"time in UTC, in whole seconds",
}

// authorProblem says why nobody can have made a document.
func (s said) authorProblem(in *Setting) string {
	_, zone := s.At.Zone()
	switch {
	case s.By == "":
		return "does not say who it is by"
	case s.Agent && in.By != "" && in.By != s.By:
		return fmt.Sprintf("is by %s, and the event by %s", strconv.Quote(s.By), strconv.Quote(in.By))
	}
	return reasonUnless(!s.At.IsZero() && zone == 0 && s.At.Equal(Second(s.At)),
		"created_at is no time in UTC, in whole seconds")
}

// placeProblem says where a document differs from its name and what lies beside it.
func (s said) placeProblem(in *Setting) string {
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
	here := each.By(files, func(f FileInfo) string { return f.Path })
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

var artifactRules = []rule[Artifact]{
	{"each of `inputs[]` is a version of another task, and has its tree", func(d *Artifact, in *Setting) string {
		return reasonUnless(!slices.ContainsFunc(d.Inputs, func(x Input) bool {
			return x.Tree == "" || x.TaskID == d.TaskID || in.Tree(x.TaskID, VersionNumber(x.ArtifactID)) != x.Tree
		}))
	}},
	{"`files[]` have paths as section 2 says, of a change below `a/` and `b/`", func(d *Artifact, in *Setting) string {
		return reasonUnless(!slices.ContainsFunc(d.Files, func(f FileInfo) bool {
			if in.changes() {
				return !strings.HasPrefix(f.Path, "a/") && !strings.HasPrefix(f.Path, "b/")
			}
			return relpath.Check(f.Path) != nil
		}))
	}},
	{"`base` is there where the task changes the repository, and only there",
		func(d *Artifact, in *Setting) string { return reasonUnless(in.changes() == (d.Base != nil)) }},
}

var reviewRules = []rule[Review]{
	{"`verdict` is `APPROVED` or `REJECTED`, `score` from 0 to 100", func(d *Review, _ *Setting) string {
		return reasonUnless((d.Verdict == Approved || d.Verdict == Rejected) && d.Score >= 0 && d.Score <= 100)
	}},
	{"`check_task_id` is the task's CHECK",
		func(d *Review, in *Setting) string { return reasonUnless(in.Since || in.isCheck(d.CheckTaskID)) }},
	{"`spec_hash` is the task's", func(d *Review, in *Setting) string {
		return reasonUnless(in.Since || in.judgedBy(d.SpecHash), "its criteria changed while it was reviewed")
	}},
	{"`criteria[]` has each criterion of the task once, with its severity, and no other",
		func(d *Review, in *Setting) string {
			if in.Since && !in.judgedBy(d.SpecHash) {
				return reasonUnless(len(d.Criteria) > 0)
			}
			of := in.task().AcceptanceCriteria
			for _, c := range of {
				if !slices.ContainsFunc(d.Criteria, c.isOf) {
					return fmt.Sprintf("criterion %s has no result", c.ID)
				}
			}
			return reasonUnless(len(d.Criteria) == len(of),
				fmt.Sprintf("%d results for %d criteria", len(d.Criteria), len(of)))
		}},
	{"each `result` is one of those of `criteria[]`",
		func(d *Review, _ *Setting) string { return allResults(d.Criteria) }},
	{"what is `waived` has a waiver", func(d *Review, in *Setting) string {
		return reasonUnless(!slices.ContainsFunc(d.Criteria, func(c CriterionResult) bool {
			return c.Result == ResultWaived && !in.Waived(VersionNumber(d.ReviewedArtifactID), c.ID)
		}))
	}},
	{"an approval has every MUST passed or waived", func(d *Review, in *Setting) string {
		return reasonUnless(d.Verdict == Rejected || d.accepts(in) || len(d.FailedMust()) == 0,
			fmt.Sprintf("can't be approved: %s not passed", strings.Join(d.FailedMust(), ", ")))
	}},
	{"`min_score` is what the CHECK asks for", func(d *Review, in *Setting) string {
		return reasonUnless(in.Since || d.JudgedBy != nil || d.MinScore == in.State.MinScore(in.Task))
	}},
	{"an approval has a `score` of at least `min_score`", func(d *Review, in *Setting) string {
		return reasonUnless(d.Verdict == Rejected || d.accepts(in) || d.Score >= d.MinScore,
			fmt.Sprintf("can't be approved with score %d: at least %d is needed", d.Score, d.MinScore))
	}},
	{"with a rubric, the `score` follows from the `ratings`, and without one there are none",
		func(d *Review, in *Setting) string {
			by := in.State.RubricOf(in.Task)
			if d.JudgedBy != nil {
				by = in.State.RubricOfJudge(TaskID(d.Reviewer))
			}
			err := d.checkRatings(by)
			return reasonUnless(in.Since || d.accepts(in) || err == nil, fmt.Sprint(err))
		}},
	{"the reviewer may review the task (section 7)", func(d *Review, in *Setting) string {
		may := in.Since || d.accepts(in) || in.State.conflicts(in.task(), *d) ||
			in.State.MayReview(in.Task, d.Reviewer) ||
			d.JudgedBy != nil && in.State.judges(d.Reviewer) || d.Reviewer == reviewerOvertook && d.Verdict == Rejected
		return reasonUnless(may, fmt.Sprintf("%s is not among its reviewers (%s)", plain.Line(d.Reviewer),
			plain.Line(strings.Join(in.State.Reviewers(in.Task), ", "))))
	}},
	{"`agent` is who spoke for a seat, or judged, and is there for nobody else", func(d *Review, in *Setting) string {
		fits := in.Since || d.JudgedBy != nil || (d.Agent != "") == in.State.isSeat(in.Task, d.Reviewer)
		return reasonUnless(fits, fmt.Sprintf(
			"a review in a seat names the role and who speaks for it; this one names %q and %q", d.Reviewer, d.Agent))
	}},
	{"`session` is not the one that made the version", func(d *Review, in *Setting) string {
		made := in.made(d.ReviewedArtifactID)
		return reasonUnless(made == nil || d.Session == "" || d.Session != made.Session,
			fmt.Sprintf("the session that made %s can't review it", d.ReviewedArtifactID))
	}},
	{"`self_reviewed` is there where who approves made the version", func(d *Review, in *Setting) string {
		made := in.made(d.ReviewedArtifactID)
		return reasonUnless(made == nil || d.SelfReviewed || d.By() != made.Agent || d.Verdict == Rejected ||
			d.JudgedBy != nil)
	}},
	{"`judged_by` names a version of the reviewer, which judges; `cause` is there with it alone",
		func(d *Review, in *Setting) string {
			return reasonUnless(d.JudgedBy == nil && d.Cause == "" || d.JudgedBy != nil &&
				string(d.JudgedBy.TaskID) == d.Reviewer && (in.Since || in.State.judges(d.Reviewer)))
		}},
}

var checkRules = []rule[Checked]{
	{"`spec_hash` is the task's",
		func(d *Checked, in *Setting) string { return reasonUnless(in.Since || in.judgedBy(d.SpecHash)) }},
	{"`criteria[]` are some of the task's, none twice, with their severity", func(d *Checked, in *Setting) string {
		for i, x := range d.Criteria {
			twice := slices.ContainsFunc(d.Criteria[:i], func(y CriterionResult) bool { return x.ID == y.ID })
			is := func(c Criterion) bool { return c.isOf(x) }
			if twice || in.judgedBy(d.SpecHash) && !slices.ContainsFunc(in.task().AcceptanceCriteria, is) {
				return reasonUnless(false)
			}
		}
		return ""
	}},
	{"each `result` is one of those of `criteria[]`",
		func(d *Checked, _ *Setting) string { return allResults(d.Criteria) }},
}

var attemptRules = []rule[Attempt]{
	{"`task_id` is the CHECK where the name has a version, else the ACTION", func(d *Attempt, in *Setting) string {
		return reasonUnless(strings.Contains(in.Name, "-v") != (d.TaskID == in.Task))
	}},
}

var questionRules = []rule[Question]{
	{"`name` and `question` say something",
		func(d *Question, _ *Setting) string {
			return reasonUnless(d.Name != "" && strings.TrimSpace(d.Question) != "")
		}},
	{"`kind` is one of these, and a choice has `options[]`", func(d *Question, _ *Setting) string {
		return reasonUnless(d.Kind == AskText || d.Kind == AskFile || d.Kind == AskChoice && len(d.Options) > 0)
	}},
	{"`recommended_option_id` is one of `options[]`", func(d *Question, _ *Setting) string {
		return reasonUnless(d.RecommendedOptionID == "" || d.hasOption(d.RecommendedOptionID))
	}},
}

var answerRules = []rule[Answer]{
	{"it answers with what the question asks for", func(d *Answer, in *Setting) string {
		if q, ok := in.says("questions/" + d.QuestionID + ".json").(*Question); ok {
			return q.Mismatch(d)
		}
		return reasonUnless(in.Says == nil)
	}},
}

var inputRules = []rule[InputDocument]{
	{"`file_name` is one name, as section 2 says; `sha256` is one", func(d *InputDocument, _ *Setting) string {
		return reasonUnless(relpath.Check(d.FileName) == nil && !strings.Contains(d.FileName, "/") &&
			len(d.SHA256) == 64 &&
			strings.Trim(d.SHA256, "0123456789abcdef") == "")
	}},
}

var waiverRules = []rule[WaiverDocument]{
	{"`criterion` is one of the task's", func(d *WaiverDocument, in *Setting) string {
		return reasonUnless(in.Since || slices.ContainsFunc(in.task().AcceptanceCriteria, func(c Criterion) bool {
			return c.ID == d.Criterion
		}), fmt.Sprintf("has no criterion %q", d.Criterion))
	}},
	{"there is a `reason`",
		func(d *WaiverDocument, _ *Setting) string {
			return reasonUnless(d.Reason != "", "a waiver needs a reason")
		}},
}

var markRules = []rule[Decision]{
	{"what is abandoned has a `reason`", func(d *Decision, in *Setting) string {
		return reasonUnless(d.Reason != "" ||
			strings.HasSuffix(in.Name, eventRestored+".json"), "giving it up needs a reason")
	}},
}

var landingRules = []rule[Landing]{
	{"the task changes the repository",
		func(d *Landing, in *Setting) string { return reasonUnless(in.Since || in.changes()) }},
	{"there is a `branch`, and one of `commit`, `reason` and `head`", func(d *Landing, _ *Setting) string {
		said := each.Add([]string{""}, string(d.Commit), d.Reason, string(d.Head))
		return reasonUnless(d.Branch != "" && len(said) == 2)
	}},
	{"each `result` is one of those of `criteria[]`",
		func(d *Landing, _ *Setting) string { return allResults(d.Criteria) }},
}

const versionRule = "`schema_version` is 1"

var actRules = []rule[actDocument]{
	{versionRule, func(d *actDocument, _ *Setting) string { return reasonUnless(d.SchemaVersion == 1) }},
}

var orderRules = []rule[Order]{
	{versionRule, func(d *Order, _ *Setting) string { return reasonUnless(d.SchemaVersion == 1) }},
}

var sessionRules = []rule[CompletionDocument]{
	{"`plan_id` of what is completed is the plan's", func(d *CompletionDocument, in *Setting) string {
		return reasonUnless(d.PlanID == in.State.Plan.PlanID || !strings.HasSuffix(in.Name, eventCompleted+".json"))
	}},
}

var doctorRules = []rule[Mend]{
	{"`mended[]` says what and where", func(d *Mend, _ *Setting) string {
		empty := func(m Mended) bool { return m.Code == "" || m.Place == "" || m.Did == "" }
		return reasonUnless(len(d.Mended) > 0 && !slices.ContainsFunc(d.Mended, empty), "doctor has put nothing right")
	}},
}

var pruneRules = []rule[PruneDocument]{
	{"`plan_id` is the plan's, `keep` at least 1", func(d *PruneDocument, in *Setting) string {
		return reasonUnless(d.PlanID == in.State.Plan.PlanID && d.Keep > 0 && isID(string(d.Archive)))
	}},
}

// reasonUnless is a reason that holds unless a condition does; without words for it, the rule's own are taken.
func reasonUnless(ok bool, words ...string) string {
	if ok {
		return ""
	}
	return cmp.Or(strings.Join(words, ""), ruleText)
}

const ruleText = "."

// accepts reports whether a review takes a version as it is, whatever it came to (section 7).
func (r Review) accepts(in *Setting) bool { return r.Taken() && in.State.Plan.SchemaVersion > 1 }

// task is whose record it is; nil for one of the plan, or of a task that the plan does not have, which no rule is
// about.
func (in *Setting) task() *TaskState { return in.State.Tasks[in.Task] }

func (in *Setting) changes() bool { return in.task().Changes() }

func (in *Setting) isCheck(id TaskID) bool {
	t := in.State.Tasks[id]
	return id == in.Task.CheckID() || t != nil && t.NodeType == Check && t.ReviewTargetTaskID == in.Task
}

// judgedBy reports whether something was judged by the task's spec and criteria.
func (in *Setting) judgedBy(specHash string) bool { return specHash == in.task().SpecHash() }

func (in *Setting) says(name string) any {
	if in.Says == nil {
		return nil
	}
	return in.Says(name)
}

// made is what artifact.json says of the version that a record is about; nil where it can't be read.
func (in *Setting) made(version string) *Artifact {
	a, _ := in.says("artifacts/" + version + "/artifact.json").(*Artifact)
	return a
}

// isOf reports whether a result is of the criterion, and has its severity.
func (c Criterion) isOf(x CriterionResult) bool { return x.ID == c.ID && x.Severity == c.Severity }

// allResults says whether each result is one.
func allResults(results []CriterionResult) string {
	return reasonUnless(!slices.ContainsFunc(results, func(c CriterionResult) bool {
		return !slices.Contains([]string{ResultPass, ResultFail, ResultWaived, ResultNotJudged}, c.Result)
	}))
}

func (q *Question) hasOption(option string) bool {
	return slices.ContainsFunc(q.Options, func(o Option) bool { return o.OptionID == option })
}

// Mismatch says how an answer misses what was asked for, "" if it does not.
func (q *Question) Mismatch(a *Answer) string {
	switch {
	case a.Role != "" && a.Role != q.To:
		return fmt.Sprintf("%s does not ask %s", a.QuestionID, plain.Line(a.Role))
	case q.Kind == AskChoice && !q.hasOption(a.OptionID):
		ids := each.Of(q.Options, func(o Option) string { return plain.Line(o.OptionID) })
		return fmt.Sprintf("%s wants one of the options %v", a.QuestionID, ids)
	case q.Kind != AskChoice && a.OptionID != "":
		return fmt.Sprintf("%s has no options to choose from; it asks for a %s", a.QuestionID, q.answerKind())
	case q.Kind == AskFile && len(a.Inputs) == 0:
		return a.QuestionID + " asks for a file"
	case q.answerKind() == AskText && a.Text == "" && len(a.Inputs) == 0:
		return a.QuestionID + " asks for a text"
	}
	return ""
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
		return nil, reasonUnless(n.By != "" && !n.CreatedAt.IsZero() && strings.TrimSpace(n.Text) != "" &&
			len(n.Text) <= maxNote, "is no note of somebody's that says something, in at most 8 KiB")
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

// Rules changes with the rules: what was found sound by others is looked at again.
func (Setting) Rules() string {
	texts := slices.Clone(everyRule)
	for _, k := range kindTable().list {
		texts = append(append(texts, k.Dir), k.Content.rules...)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(texts, "\n"))))
}

// RulesOf is the kind of the document that has rules at a path of a plan's tree; nil where there is none.
func (Setting) RulesOf(name string, ofTask bool) *RecordKind {
	dir, rest, _ := strings.Cut(name, "/")
	k := KindOf(dir, !ofTask)
	if k == nil || k.Content.check == nil || strings.Contains(rest, "/files/") ||
		!strings.HasSuffix(name, k.Forms[0].Text[strings.LastIndexByte(k.Forms[0].Text, '.'):]) || !k.Known(rest) {
		return nil
	}
	return k
}

// Decide applies an event to the state, and holds each record that it would add against the rules of its kind.
func (s *State) Decide(ev Event) (Change, error) {
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
		k, dir := in.RulesOf(name, ofTask), strings.TrimSuffix(e.Path, name)
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
