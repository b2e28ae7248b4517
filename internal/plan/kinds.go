package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitwf/internal/relpath"
)

// RecordKind is one kind of record: all that the format says of it. How names are read and written, what an event may
// add, how the audit compares a document with its place, and docs/format/records.md follow from the rows of
// kindTable. A new kind is a row there and its event.
type RecordKind struct {
	Dir    string   // where the records are: below a task's directory, or at the top of the tree
	OfPlan bool     // they are at the top
	Forms  []form   // of the names below Dir; the first is that of the document
	Events []string // that add such records
	Named  bool     // the word in the name is the kind of the event
	Owner  string   // of a record of several files, the document: a * stands for each directory above it
	Reads  string   // what Derive reads of it, for people
	Texts  bool     // agents and commands wrote texts in it, which may hold secrets
	Shown  bool     // show has a section for it; other records it lists by their names
	Finds  string   // how doctor calls a document that does not fit its place; "" is bad-record

	Document any     // of the document's type; nil for one that has several or none
	Content  content // what its documents say, and may say

	against func(values) string // the name of the document that one is held against; nil: none
}

// said is what a document says of itself, to be compared with where it is.
type said struct {
	Name    string     // of the record below the task's directory
	End     string     // how the name ends, where the document leaves a number in it out
	Task    TaskID     // whose it is; "" only with NoTask
	NoTask  bool       // the document names no task
	OfCheck bool       // it may name the task's CHECK, too
	Version string     // that it is about, "" for none
	Tree    OID        // of that version
	Files   []FileInfo // of that version, where Listed
	Listed  bool       // the document lists the files
	Filed   bool       // files came with it
	Holds   OID        // their tree, where Filed
	Beside  []string   // what else is there below the task's directory
	By      string     // who it is by
	Agent   bool       // who is named in the event, too
	At      time.Time  // when it was made
	Brief   any        // what documents of other kinds are held against
}

// Fits reports whether a document that says this may have the name.
func (s said) Fits(name string) bool {
	if s.End == "" {
		return name == s.Name
	}
	if !strings.HasPrefix(name, s.Name) || !strings.HasSuffix(name, s.End) {
		return false
	}
	between := name[len(s.Name):max(len(s.Name), len(name)-len(s.End))]
	return strings.Trim(strings.TrimPrefix(between, "v"), "0123456789") == ""
}

// form is the form of one name. Capitals are what varies: N a number from 1, NNNN one of at least four digits, V a
// version, D that of a decision, A, B and R numbers from 0, SCORE one to 100, and words: VERDICT, KIND, and NAME for
// anything but a slash.
type form struct {
	Text string
	take func(reading) bool // adds the record, or reports that it is none; nil: there is nothing to add

	parts []formPart
}

// formPart is a text that is always the same, and what varies behind it.
type formPart struct {
	text  string
	field formField
}

// formField is what varies in a name.
type formField byte

const (
	fieldNone formField = iota
	fieldN
	fieldNNNN
	fieldV
	fieldA
	fieldB
	fieldD
	fieldR
	fieldScore
	fieldName
	fieldWord
)

var formFields = map[string]formField{
	"N": fieldN, "NNNN": fieldNNNN, "V": fieldV, "A": fieldA, "B": fieldB, "D": fieldD,
	"R": fieldR, "SCORE": fieldScore,
	"NAME": fieldName, "KIND": fieldWord, "VERDICT": fieldWord,
}

// values are what varies in a name.
type values struct {
	n, version, attempt, review, score, decision, before int
	name, word                                           string
}

// reading is a name that has the form of a record.
type reading struct {
	values
	oid    OID
	beside half         // the names in its directory
	to     *TaskRecords // which take it up
}

// kindTable returns the kinds of records in the order of docs/format/records.md.
var kindTable = sync.OnceValue(func() (all kindIndex) {
	all.list = []*RecordKind{
		{
			Dir: "artifacts", Shown: true, Events: []string{EventPlan, eventArtifact, EventDecision}, Reads: "yes",
			Owner: "artifacts/*/artifact.json", Texts: true, Finds: "bad-artifact",
			Forms: []form{
				{Text: "vN/artifact.json", take: func(x reading) bool { return x.beside&(halfFiles|halfStub) != 0 }},
				{Text: "vN/files", take: func(x reading) bool {
					return x.beside&halfArtifact != 0 &&
						appendRecord(&x.to.Artifacts, ArtifactRecord{Version: x.n, Files: x.oid})
				}},
				{Text: "vN/from/NAME", take: func(x reading) bool { return x.to.addLink(&x.to.From, x.n, x.name) }},
				{Text: "vN/mode-KIND", take: func(x reading) bool {
					return isMode(x.word) && appendRecord(&x.to.Modes, modeRecord{x.n, x.word})
				}},
				{Text: "vN/" + stubPrefix + "NAME", take: func(x reading) bool {
					return x.to.addStub(x.n, stubTree(stubPrefix+x.name), x.beside)
				}},
			},
			Document: Artifact{}, Content: contentOf(func(d *Artifact) said {
				return said{
					Name: "artifacts/" + d.ArtifactID + "/artifact.json", Task: d.TaskID, Version: d.ArtifactID,
					Tree: d.Tree, Files: d.Files, Listed: true, By: d.Agent, Agent: true, At: d.CreatedAt,
					Brief: &Artifact{Agent: d.Agent, Session: d.Session},
				}
			}, artifactRules...),
		},
		{
			Dir: "reviews", Shown: true, Events: []string{eventReview, EventWaiver, EventVerdicts}, Reads: "yes",
			Owner: "reviews/*/review.json", Texts: true, Finds: "bad-review",
			against: func(v values) string { return "artifacts/" + VersionID(v.version) + "/artifact.json" },
			Forms: []form{
				{Text: "rN-vV-SCORE-NAME/review.json", take: func(x reading) bool { return x.beside&halfVerdict != 0 }},
				{Text: "rN-vV-SCORE-NAME/VERDICT.md", take: func(x reading) bool {
					rev := ReviewRecord{x.n, x.version, x.score, x.name, Verdict(x.word)}
					return x.beside&halfReview != 0 && (rev.Verdict == Approved || rev.Verdict == Rejected) &&
						appendRecord(&x.to.Reviews, rev)
				}},
			},
			Document: Review{}, Content: contentOf(func(d *Review) said {
				dir := fmt.Sprintf("reviews/%s-%s-%d-%s/", d.ReviewID, d.ReviewedArtifactID, d.Score,
					EscapeName(d.Reviewer))
				return said{
					Name: dir + "review.json", Task: d.TaskID, Version: d.ReviewedArtifactID, Tree: d.Tree,
					Beside: []string{dir + d.Verdict.File()}, By: d.By(), Agent: true, At: d.CreatedAt,
				}
			}, reviewRules...),
		},
		{
			Dir: "checks", Events: []string{eventCheck}, Reads: "for the next step of a review", Texts: true,
			Forms: []form{{Text: "kN-vV.json", take: func(x reading) bool {
				return appendRecord(&x.to.Checks, CheckRecord{x.n, x.version})
			}}},
			Document: Checked{}, Content: contentOf(func(d *Checked) said {
				return said{
					Name: "checks/" + d.CheckID + "-" + d.ReviewedArtifactID + ".json", Task: d.TaskID,
					Version: d.ReviewedArtifactID, Tree: d.Tree, By: ReviewerChecks, Agent: true, At: d.CreatedAt,
				}
			}, checkRules...),
		},
		{
			Dir: "attempts", Shown: true, Events: []string{eventAttempt, eventQuestion},
			Reads: "yes, not the log", Texts: true,
			Forms: []form{
				{Text: "aN-KIND.json", take: takeAttempt}, {Text: "aN-vV-KIND.json", take: takeAttempt},
				{Text: "aN.log"},
			},
			Document: Attempt{}, Content: contentOf(func(d *Attempt) said {
				return said{
					Name: "attempts/" + d.AttemptID + "-", End: "-" + d.Kind + ".json", Task: d.TaskID, OfCheck: true,
					By: d.Agent, Agent: true, At: d.CreatedAt,
				}
			}, attemptRules...),
		},
		{
			Dir: "resets", Events: []string{eventArtifact, eventReview, eventRetry}, Reads: "yes, the newest",
			Document: Decision{},
			Content:  contentOf((*Decision).says),
			Forms: []form{{Text: "sN-aA-rR.json", take: func(x reading) bool {
				return appendRecord(&x.to.Resets, resetRecord{x.n, x.attempt, x.review})
			}}},
		},
		{
			Dir: "questions", Shown: true, Events: []string{eventQuestion, EventGraft, EventVerdicts, EventDecision},
			Reads: "yes", Texts: true,
			Forms: []form{{Text: "qN.json",
				take: func(x reading) bool { return appendRecord(&x.to.Questions, x.n) }}},
			Document: Question{}, Content: contentOf(func(d *Question) said {
				return said{Name: "questions/" + d.QuestionID + ".json", Task: d.TaskID, By: d.By,
					At: d.CreatedAt, Brief: d}
			}, questionRules...),
		},
		{
			against: func(v values) string { return "questions/q" + strconv.Itoa(v.n) + ".json" },
			Dir:     "answers", Shown: true, Events: []string{eventAnswer, EventDecision}, Reads: "yes",
			Forms:    []form{{Text: "qN.json", take: func(x reading) bool { return appendRecord(&x.to.Answers, x.n) }}},
			Document: Answer{}, Content: contentOf(func(d *Answer) said {
				says := said{Name: "answers/" + d.QuestionID + ".json", Task: d.TaskID, By: d.By, At: d.CreatedAt}
				for _, in := range d.Inputs {
					says.Beside = append(says.Beside, "inputs/"+in+".json")
				}
				return says
			}, answerRules...),
		},
		{
			Dir: "inputs", Shown: true, Events: []string{EventPlan, eventAnswer, eventInput}, Reads: "yes, how many",
			Owner: "inputs/*/*.json",
			Forms: []form{
				{Text: "NAME/N.json", take: func(x reading) bool {
					if x.to.Inputs == nil {
						x.to.Inputs = map[string]int{}
					}
					x.to.Inputs[x.name]++
					return true
				}},
				{Text: "NAME/N/files"}, // described by the document next to it
			},
			Document: InputDocument{}, Content: contentOf(func(d *InputDocument) said {
				return said{
					Name: "inputs/" + EscapeName(d.Name) + "/", End: ".json", NoTask: true, Filed: true, Holds: d.Tree,
					By: d.By, At: d.CreatedAt,
				}
			}, inputRules...),
		},
		{
			Dir: "feasibility", Shown: true, Events: []string{EventGraft}, Reads: "no",
			Forms:   []form{{Text: "fN-vV.json"}},
			Content: objectContent,
		},
		{
			Dir: "waivers", Events: []string{EventWaiver}, Reads: "no",
			Forms: []form{{Text: "wN-vV-NAME.json", take: func(x reading) bool {
				return appendRecord(&x.to.Waivers, WaiverRecord{x.n, x.version, x.name})
			}}},
			Document: WaiverDocument{}, Content: contentOf(func(d *WaiverDocument) said {
				return said{
					Name: "waivers/w", End: "-" + d.ArtifactID + "-" + EscapeName(d.Criterion) + ".json",
					Task: d.TaskID, Version: d.ArtifactID, Tree: d.Tree, By: d.By, At: d.CreatedAt,
				}
			}, waiverRules...),
		},
		{
			Dir: "marks", Events: marks[:], Named: true,
			Reads: "yes, the newest", Document: Decision{}, Content: contentOf((*Decision).says, markRules...),
			Forms: []form{{Text: "NNNN-KIND.json", take: func(x reading) bool {
				return slices.Contains(marks[:], x.word) && appendRecord(&x.to.Marks, markRecord{x.n, x.word})
			}}},
		},
		{
			Dir: "landings", Events: []string{eventLanding}, Reads: "yes, of the newest version", Document: Landing{},
			Forms: []form{{Text: "lN-vV-KIND.json", take: func(x reading) bool {
				return slices.Contains([]string{landed, refused, flaky, proposed}, x.word) &&
					appendRecord(&x.to.Landings, landingRecord{x.n, x.version, x.word})
			}}},
			Content: contentOf(func(d *Landing) said {
				return said{
					Name: "landings/" + d.LandingID + "-" + d.ArtifactID + "-" + d.kind() + ".json", Task: d.TaskID,
					Version: d.ArtifactID, Tree: d.Tree, By: d.By, At: d.CreatedAt,
				}
			}, landingRules...),
		},
		{
			Dir: "holds", Events: []string{eventReview}, Reads: "yes", Document: Decision{},
			Content: contentOf((*Decision).says),
			Forms: []form{{Text: "hN-vV-NAME.json", take: func(x reading) bool {
				return x.to.addLink(&x.to.Holds, x.version, x.name)
			}}},
		},
		{
			Dir: "acts", Shown: true, Events: []string{EventVerdicts, EventDecision}, Reads: "yes",
			Forms: []form{{Text: "vN-aA-KIND.json", take: func(x reading) bool {
				return isAct(x.word) && appendRecord(&x.to.Acts, actRecord{x.n, x.attempt, x.word})
			}}},
			Document: actDocument{}, Content: contentOf(func(d *actDocument) said {
				return said{
					Name: "acts/" + d.ArtifactID + "-a", End: "-" + d.Kind + ".json", Task: d.TaskID, By: d.By,
					At: d.CreatedAt,
				}
			}, actRules...),
		},
		{
			Dir: "orders", Shown: true, Events: []string{EventDecision}, Reads: "yes",
			Forms: []form{{Text: "oN-dD-bB-aA.json", take: takeOrder},
				{Text: "oN-dD-bB-aA-KIND.json", take: takeOrder}},
			Document: Order{}, Content: contentOf(func(d *Order) said {
				return said{Name: d.path(), Task: d.TaskID, By: string(d.ByTask), At: d.CreatedAt}
			}, orderRules...),
		},
		{
			Dir: SessionDir, OfPlan: true, Events: []string{eventPaused, eventResumed, eventCompleted},
			Named: true, Reads: "the newest, for the session (section 8)",
			Content: contentOf(func(d *CompletionDocument) said {
				return said{NoTask: true, By: d.By, At: d.CreatedAt}
			},
				sessionRules...),
			Forms: []form{{Text: "NNNN-KIND.json", take: func(x reading) bool {
				return x.word == eventPaused || x.word == eventResumed || x.word == eventCompleted
			}}},
		},
		{
			Dir: NotesDir, OfPlan: true, Events: []string{eventArtifact, eventReview, eventAttempt,
				eventCompleted, eventNote},
			Reads: "no", Texts: true, Content: noteContent,
			Forms: []form{{Text: "NNNN-KIND.md", take: func(x reading) bool {
				return strings.Trim(x.word, "abcdefghijklmnopqrstuvwxyz") == ""
			}}},
		},
		{
			Dir: doctorDir, OfPlan: true, Events: []string{eventDoctor}, Reads: "no", Document: Mend{},
			Content: contentOf(func(d *Mend) said { return said{NoTask: true, By: d.By, At: d.CreatedAt} },
				doctorRules...),
			Forms: []form{{Text: "NAME.json"}},
		},
		{
			Dir: PrunedDir, OfPlan: true, Events: []string{EventPruned}, Reads: "no", Document: PruneDocument{},
			Content: contentOf(func(d *PruneDocument) said { return said{NoTask: true, By: d.By, At: d.CreatedAt} },
				pruneRules...),
			Forms: []form{{Text: "NAME/" + PruneFile, take: func(x reading) bool {
				_, _, ok := ParsePruneDir(x.name)
				return ok
			}}},
		},
	}
	all.ofTask, all.ofPlan = map[string]*RecordKind{}, map[string]*RecordKind{}
	for _, k := range all.list {
		for i := range k.Forms {
			k.Forms[i].parts = parseForm(k.Forms[i].Text)
		}
		if k.OfPlan {
			all.ofPlan[k.Dir] = k
		} else {
			all.ofTask[k.Dir] = k
		}
	}
	return all
})

// kindIndex is the table, and its rows by their directories.
type kindIndex struct {
	list           []*RecordKind
	ofTask, ofPlan map[string]*RecordKind
}

func takeOrder(x reading) bool {
	return (x.word == "" || isMode(x.word)) && appendRecord(&x.to.Orders,
		orderRecord{x.n, x.decision, x.before, x.attempt, x.word})
}

func takeAttempt(x reading) bool {
	switch x.word {
	case AttemptError, AttemptLost, AttemptNeedsInput, AttemptNoop:
		return appendRecord(&x.to.Attempts, AttemptRecord{x.n, x.version, x.word})
	}
	return false
}

// KindOf is the kind of the records in a directory: of a task, or at the top of a plan's tree. It is nil for a
// directory of no kind.
func KindOf(dir string, ofPlan bool) *RecordKind {
	if ofPlan {
		return kindTable().ofPlan[dir]
	}
	return kindTable().ofTask[dir]
}

// Known reports whether a name below the kind's directory has one of its forms. It does not ask whether
// the record's other half is there, which a name alone can't say.
func (k *RecordKind) Known(rest string) bool {
	_, ok := k.values(rest)
	return ok
}

// About is the version that a record says it is about, 0 for none.
func (k *RecordKind) About(rest string) int {
	v, _ := k.values(rest)
	return v.version
}

// Refers is the name of the document of the same task that a record's is held against; "" for none.
func (k *RecordKind) Refers(rest string) string {
	if k.against == nil {
		return ""
	}
	v, _ := k.values(rest)
	return k.against(v)
}

// Word is the word in a name of the kind, such as the kind of an attempt; "" if it has none.
func (k *RecordKind) Word(rest string) string {
	v, _ := k.values(rest)
	return v.word
}

func (k *RecordKind) values(rest string) (values, bool) {
	const both = halfFiles | halfArtifact | halfVerdict | halfReview
	for i := range k.Forms {
		f := &k.Forms[i]
		if v, ok := f.parse(rest); ok && (f.take == nil ||
			f.take(reading{values: v, beside: both, to: &TaskRecords{}})) {
			return v, true
		}
	}
	return values{}, false
}

// Listed reports whether show lists a record of a task by its name: one of a kind that it has no section for, or that
// this program does not know.
func (n Name) Listed() bool {
	dir, rest, _ := strings.Cut(n.Path, "/")
	k := KindOf(dir, false)
	return k == nil && isNewRecord(n.Path, false) || k != nil && !k.Shown && k.Known(rest)
}

// DocumentOf is the document of the record that a path below a task's directory belongs to, where that has several
// files; "" where it is the only one, or of no known form.
func (k *RecordKind) DocumentOf(rest string) string {
	if k == nil || k.Owner == "" {
		return ""
	}
	parts, owner := strings.Split(rest, "/"), strings.Split(k.Owner, "*")
	if len(parts) <= len(owner) {
		return ""
	}
	text := owner[0]
	for i, more := range owner[1:] {
		text += parts[i+1] + more
	}
	return text
}

// addRecord adds the record of one name, unless no form matches.
func (k *RecordKind) addRecord(t *TaskRecords, n Name, rest string, halves map[string]half) bool {
	for i := range k.Forms {
		f := &k.Forms[i]
		v, ok := f.parse(rest)
		if !ok {
			continue
		}
		if f.take == nil {
			return true
		}
		var beside half
		if k.Owner != "" {
			dir, _ := splitName(n.Path)
			beside = halves[dir]
		}
		if f.take(reading{v, n.OID, beside, t}) {
			return true
		}
	}
	return false
}

// recordPath writes the name of a record in a directory of a kind, by one of its forms.
func recordPath(dir string, ofPlan bool, form int, v values) string {
	k := KindOf(dir, ofPlan)
	b := []byte(dir + "/")
	for _, p := range k.Forms[form].parts {
		b = append(b, p.text...)
		switch p.field {
		case fieldN:
			b = strconv.AppendInt(b, int64(v.n), 10)
		case fieldNNNN:
			b = fmt.Appendf(b, "%04d", v.n)
		case fieldV:
			b = strconv.AppendInt(b, int64(v.version), 10)
		case fieldA:
			b = strconv.AppendInt(b, int64(v.attempt), 10)
		case fieldB:
			b = strconv.AppendInt(b, int64(v.before), 10)
		case fieldD:
			b = strconv.AppendInt(b, int64(v.decision), 10)
		case fieldR:
			b = strconv.AppendInt(b, int64(v.review), 10)
		case fieldScore:
			b = strconv.AppendInt(b, int64(v.score), 10)
		case fieldName:
			b = append(b, v.name...)
		case fieldWord:
			b = append(b, v.word...)
		}
	}
	return string(b)
}

// parseForm divides a form where capitals begin and end.
func parseForm(text string) []formPart {
	var parts []formPart
	capital := func(r rune) bool { return 'A' <= r && r <= 'Z' }
	for text != "" {
		at := strings.IndexFunc(text, capital)
		if at < 0 {
			return append(parts, formPart{text: text})
		}
		end := at
		for end < len(text) && capital(rune(text[end])) {
			end++
		}
		parts = append(parts, formPart{text[:at], formFields[text[at:end]]})
		text = text[end:]
	}
	return parts
}

// parse takes a name apart from left to right. Long plans have tens of thousands of names: with regular
// expressions, parsing would take most of the time of a status.
func (f *form) parse(rest string) (v values, ok bool) {
	r := recordName{rest: rest}
	for i, p := range f.parts {
		if r.bad {
			return v, false
		}
		switch p.field {
		case fieldNone:
			return v, r.ends(p.text)
		case fieldN:
			v.n = r.number(p.text)
		case fieldNNNN:
			v.n = r.digits(p.text, 4)
		case fieldV:
			v.version = r.number(p.text)
		case fieldA:
			v.attempt = r.count(p.text)
		case fieldB:
			v.before = r.count(p.text)
		case fieldD:
			v.decision = r.number(p.text)
		case fieldR:
			v.review = r.count(p.text)
		case fieldScore:
			v.score = r.score(p.text)
		default:
			end := ""
			if i+1 < len(f.parts) {
				end = f.parts[i+1].text
			}
			word := r.word(p.text, end)
			if p.field == fieldName {
				v.name = word
			} else {
				v.word = word
			}
		}
	}
	return v, r.ends("")
}

// WrittenByNewer reports whether a path of a plan's tree is one that a newer program may have given to a kind of record
// that this one does not know: below a directory of a task, or of the tree, that has the name of a kind and is none.
func WrittenByNewer(name string) bool {
	parts := strings.SplitN(name, "/", 4)
	if parts[0] != "tasks" {
		return isNewRecord(name, true)
	}
	return len(parts) == 4 && TaskID(parts[2]).Valid() && TaskID(parts[2]).Dir() == strings.Join(parts[:3], "/") &&
		isNewRecord(parts[3], false)
}

// isNewRecord is WrittenByNewer for a path below the directory of a task, or at the top.
func isNewRecord(name string, ofPlan bool) bool {
	dir, rest, _ := strings.Cut(name, "/")
	return rest != "" && IsNewKind(dir, ofPlan) && relpath.Check(rest) == nil
}

// IsNewKind reports whether a directory has the name of a kind, and is none that is known.
func IsNewKind(dir string, ofPlan bool) bool {
	const most = 32
	plain := dir != "" && len(dir) <= most && strings.Trim(dir, "abcdefghijklmnopqrstuvwxyz_-") == ""
	// No program keeps records where bundles land: such a commit, taken for a branch, would be full of them.
	return plain && dir != "tasks" && dir != "deliverables" && KindOf(dir, ofPlan) == nil
}
