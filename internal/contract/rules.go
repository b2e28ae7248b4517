package contract

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// replyReader makes a Reply of an object that fits the schema, and holds it against the rules that no schema can say.
type replyReader struct {
	want  Want
	def   string // the definition in the schema
	found []*Violation
}

func (j *replyReader) add(code, path, expected, actual, fix string) {
	j.found = append(j.found, &Violation{
		Code: code, Schema: schemaName + "#/$defs/" + j.def, JSONPath: path, Expected: expected, Actual: actual,
		ExampleFix: fix,
	})
}

// violation is all that was found, nil if it is nothing.
func (j *replyReader) violation() *Violation {
	if len(j.found) == 0 {
		return nil
	}
	first := j.found[0]
	first.Also = j.found[1:min(len(j.found), 1+maxAlso)]
	return first
}

func (j *replyReader) reply(object map[string]any) Reply {
	r := Reply{Type: ResultType(str(object, keyResult)), Summary: text(str(object, "summary"))}
	if r.Type == Artifact || r.Type == Error || r.Type == Review {
		for at, n := range items(object, "$", "notes") {
			r.Notes = append(r.Notes, j.note(n, at))
		}
	}
	if r.Type == Artifact || r.Type == Error {
		for at, c := range items(object, "$", "concerns") {
			r.Concerns = append(r.Concerns, j.concern(c, at))
		}
	}
	switch r.Type {
	case Artifact:
		r.Files = j.files(object)
	case NeedsInput:
		r.Needs = j.needs(object)
	case Error:
		r.Error = j.required(object, "error", "$")
	case Review:
		j.review(object, &r)
	case Feasibility:
		r.Estimates = j.estimates(object)
	case Answer:
		r.Answer = j.answer(object)
	}
	return r
}

// answer is the answer to what was asked, if it has the form that was asked for.
func (j *replyReader) answer(object map[string]any) plan.Answer {
	a := plan.Answer{QuestionID: j.want.Question.QuestionID, OptionID: str(object, "option_id")}
	if s := str(object, "text"); strings.ContainsFunc(s, readable) {
		a.Text = text(s)
	}
	if why := j.want.Question.Mismatch(&a); why != "" {
		j.add(codeBadValue, "$", text(why), plain.Quote(cmp.Or(a.OptionID, a.Text)),
			`"text": "...", or of options the "option_id" of one`)
	}
	return a
}

func (j *replyReader) note(n map[string]any, at string) plan.Note {
	note := plan.Note{Category: str(n, "category"), Text: j.required(n, "text", at)}
	if why := note.Check(); why != "" && note.Text != "" {
		j.add(codeTooLarge, at+".text", "at most 8192 bytes", plain.Count(len(note.Text), "byte"), "say less")
	}
	return note
}

func (j *replyReader) concern(c map[string]any, at string) plan.Note {
	concern := plan.Note{TaskID: plan.TaskID(str(c, "task_id")), Text: j.required(c, "text", at)}
	if !concern.TaskID.Valid() {
		j.add(codeUnknownID, at+".task_id", "the id of a task", plain.Quote(string(concern.TaskID)),
			`"task_id": "TEST-1"`)
	}
	return concern
}

func (j *replyReader) needs(object map[string]any) []plan.Question {
	var needs []plan.Question
	names := map[string]bool{}
	for at, n := range items(object, "$", "needs") {
		need := plan.Question{Name: j.name(n, "name", at), Question: j.required(n, "question", at),
			Kind: str(n, "kind")}
		if len(plan.EscapeName(need.Name)) > maxEscapedName {
			j.add(codeTooLarge, at+".name", fmt.Sprintf("a name of at most %d bytes as a file's name", maxEscapedName),
				plain.Quote(need.Name), `"name": "product_spec"`)
		}
		j.unique(names, relpath.Fold(need.Name), at+".name", plain.Quote(need.Name))
		need.Options, need.RecommendedOptionID = j.options(n, need.Kind, at)
		if to := str(n, "to"); len(j.want.Advisers) > 0 && to != "" { // else it is as good as unknown
			need.To = to
			if !slices.Contains(j.want.Advisers, to) {
				j.add(codeUnknownID, at+".to", "one of "+some(j.want.Advisers)+", or nobody: a person is asked",
					plain.Quote(to), `"to": "`+j.want.Advisers[0]+`"`)
			}
			if need.Kind == plan.AskFile {
				j.add(codeContradiction, at+".kind", "text or choice, to a role", plain.Quote(need.Kind),
					`"kind": "text"`)
			}
		}
		needs = append(needs, need)
	}
	return needs
}

// maxEscapedName keeps the path of an input short enough for every file system.
const maxEscapedName = 200

func (j *replyReader) options(n map[string]any, kind, at string) (options []plan.Option, recommended string) {
	recommended = str(n, "recommended_option_id")
	if kind != plan.AskChoice {
		if list, _ := n["options"].([]any); len(list) > 0 || recommended != "" {
			j.add(codeContradiction, at+".kind", `"choice" where there are options`, plain.Quote(kind),
				`"kind": "choice"`)
		}
		return nil, ""
	}
	ids := map[string]bool{}
	var known []string
	for path, o := range items(n, at, "options") {
		option := plan.Option{OptionID: j.name(o, "option_id", path), Description: j.required(o, "description", path)}
		j.unique(ids, option.OptionID, path+".option_id", plain.Quote(option.OptionID))
		options = append(options, option)
		known = append(known, option.OptionID)
	}
	if recommended != "" && !ids[recommended] {
		j.add(codeUnknownID, at+".recommended_option_id", "one of "+some(known), plain.Quote(recommended),
			`"recommended_option_id": "`+known[0]+`"`)
	}
	return options, recommended
}

func (j *replyReader) review(object map[string]any, r *Reply) {
	said := &r.Review
	said.Verdict = plan.Verdict(str(object, "verdict"))
	j.scored(object, said)
	must, fails := j.rulings(object, r)
	for at, s := range items(object, "$", "suggestions") {
		said.Suggestions = append(said.Suggestions, plan.Suggestion{Priority: str(s, "priority"),
			Text: j.required(s, "text", at)})
	}
	switch {
	case said.Verdict == plan.Approved && must != "":
		j.add(codeContradiction, "$.verdict", fmt.Sprintf("%s, as the MUST criterion %s fails", plan.Rejected, must),
			string(plan.Approved), `"verdict": "REJECTED"`)
	case said.Verdict == plan.Approved && said.Score < j.want.MinScore && !fails && len(said.Suggestions) == 0:
		j.add(codeContradiction, "$.verdict",
			fmt.Sprintf("a score of at least %d in a review that approves, or what would have to change in "+
				"one that rejects", j.want.MinScore), fmt.Sprintf("%s with %d", plan.Approved, said.Score),
			`"verdict": "REJECTED", "suggestions": [{"priority": "HIGH", "text": "what would have to change"}]`)
	case said.Verdict == plan.Rejected && !fails && len(said.Suggestions) == 0:
		j.add(codeContradiction, "$.verdict",
			"a criterion that fails, or a suggestion of what to change, in a review that rejects", "neither",
			`"suggestions": [{"priority": "HIGH", "text": "what would have to change"}]`)
	}
}

// scored reads the score, or the ratings that it follows from.
func (j *replyReader) scored(object map[string]any, r *plan.Review) {
	if j.want.Rubric == nil {
		score, stated := object["score"].(float64)
		if r.Score = int(score); !stated {
			j.add(codeMissingField, "$.score", "a value", "nothing", `"score": 93`)
		}
		return
	}
	given, _ := object["ratings"].(map[string]any)
	r.Ratings = plan.Ratings{}
	for name, v := range given {
		if n, ok := v.(float64); ok {
			r.Ratings[name] = &n
		} else {
			r.Ratings[name] = nil
		}
	}
	var err error
	if r.Score, err = j.want.Rubric.Scored(r.Ratings); err != nil {
		best := each.Of(j.want.Rubric.Names(), func(name string) string {
			return fmt.Sprintf("%q: %d", name, j.want.Rubric.Scale)
		})
		j.add(codeBadValue, "$.ratings", "each dimension once, "+j.want.Rubric.RatingForm("null"),
			text(err.Error()), `"ratings": {`+strings.Join(best, ", ")+`}`)
	}
}

// rulings checks that each criterion without a run line is judged exactly once. What the agent says of the others
// counts for nothing and is dropped, but may not contradict its own verdict: must is the first MUST that
// fails, fails is whether any does.
func (j *replyReader) rulings(object map[string]any, r *Reply) (must string, fails bool) {
	byID := map[string]ruling{}
	seen := map[string]bool{}
	for at, c := range items(object, "$", "criteria") {
		id := str(c, "id")
		pass, _ := c["pass"].(bool)
		ruling := ruling{ID: id, Pass: pass, Evidence: j.required(c, "evidence", at)}
		k := slices.IndexFunc(j.want.Criteria, func(k plan.Criterion) bool { return k.ID == id })
		if k < 0 {
			j.add(codeUnknownID, at+".id", "one of "+some(j.manual()), plain.Quote(id),
				"leave out what is no criterion of the task")
			continue
		}
		j.unique(seen, id, at+".id", plain.Quote(id))
		byID[id] = ruling
		fails = fails || !pass
		if !pass && must == "" && j.want.Criteria[k].Severity == plan.Must {
			must = id
		}
	}
	for _, id := range j.manual() {
		ruling, judged := byID[id]
		if !judged {
			j.add(codeNotJudged, "$.criteria", "a verdict on "+id, "none",
				`{"id": "`+id+`", "pass": false, "evidence": "what you saw, and where"}`)
		}
		r.Criteria = append(r.Criteria, ruling)
	}
	return must, fails
}

func (j *replyReader) manual() []string {
	return each.Pick(j.want.Criteria, func(c plan.Criterion) (string, bool) { return c.ID, c.Manual() })
}

func (j *replyReader) estimates(object map[string]any) []estimate {
	var estimates []estimate
	known := map[plan.TaskID]bool{}
	names := make([]string, len(j.want.Tasks))
	for i, id := range j.want.Tasks {
		known[id], names[i] = true, string(id)
	}
	seen := map[string]bool{}
	for at, e := range items(object, "$", "estimates") {
		id := str(e, "task_id")
		if slices.Contains(j.want.Others, plan.TaskID(id)) {
			continue // the agent was shown the whole plan
		}
		if !known[plan.TaskID(id)] {
			j.add(codeUnknownID, at+".task_id", "one of "+some(names), plain.Quote(id),
				"leave out what is no leaf of the plan")
			continue
		}
		j.unique(seen, id, at+".task_id", plain.Quote(id))
		days, _ := e["estimated_person_days"].(float64)
		pass, _ := e["one_shot_pass"].(bool)
		estimates = append(estimates, estimate{plan.TaskID(id), days, pass, j.required(e, "why", at)})
	}
	return estimates
}

// unique refuses the second of two equal names.
func (j *replyReader) unique(seen map[string]bool, key, path, actual string) {
	if seen[key] {
		j.add(codeDuplicateID, path, "each name and id once", "a second "+actual, "leave one of them out")
	}
	seen[key] = true
}

// required is a text in which there must be something to read.
func (j *replyReader) required(m map[string]any, key, at string) string {
	s := str(m, key)
	if !strings.ContainsFunc(s, readable) {
		j.add(codeBadValue, at+"."+key, "a text that says something", plain.Quote(s), `"`+key+`": "..."`)
	}
	return text(s)
}

func readable(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsPunct(c) || unicode.IsSymbol(c) &&
		c != unicode.ReplacementChar
}

// name is a text that stands for something: one line, without what can't be seen.
func (j *replyReader) name(m map[string]any, key, at string) string {
	s := j.required(m, key, at)
	if s != str(m, key) || s != plain.Line(s) || strings.ContainsFunc(s, func(c rune) bool {
		return unicode.Is(unicode.Cf, c)
	}) {
		j.add(codeBadValue, at+"."+key,
			"a name on one line, without control or invisible characters, with single spaces",
			plain.Quote(str(m, key)), `"`+key+`": "product_spec"`)
	}
	return s
}

// text makes what an agent says fit to be printed.
func text(s string) string { return plain.Text(strings.ReplaceAll(s, "\r\n", "\n")) }

// str is the text of a field, "" if it has none; the schema has said what must be there.
func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// items gives the objects of a list that is a field, each with its path.
func items(m map[string]any, at, key string) iter.Seq2[string, map[string]any] {
	list, _ := m[key].([]any)
	return func(yield func(string, map[string]any) bool) {
		for i, v := range list {
			if o, ok := v.(map[string]any); ok && !yield(fmt.Sprintf("%s.%s[%d]", at, key, i), o) {
				return
			}
		}
	}
}

// content is the bytes of a file, ok unless they are not what their encoding promises.
func content(f map[string]any) (data []byte, ok bool) {
	s := str(f, "content")
	if str(f, "encoding") != encodingBase64 {
		return []byte(s), true
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s) // line ends are skipped
	return data, err == nil
}
