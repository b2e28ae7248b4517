package check

import (
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Form is the text that a person fills in when they review without saying a verdict on the command line: what there is
// to judge, what the engine saw, and a line for each thing that only they can say.
func Form(s Subject, ran []plan.CriterionResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Review of %s %s: %s\n#\n", s.Task.TaskID, s.Artifact.ArtifactID, plain.Line(s.Task.Title))
	for _, f := range s.Artifact.Files {
		fmt.Fprintf(&b, "#   %s (%d bytes)\n", plain.Line(f.Path), f.Size)
	}
	for _, r := range ran {
		fmt.Fprintf(&b, "#\n# %s %s, %s: %s\n#   %s\n", r.ID, r.Severity, r.Result, plain.Line(r.Statement),
			plain.Line(lastLine(r.Evidence)))
	}
	b.WriteString("#\n# Lines that begin with # are left out. An empty verdict records nothing.\n\n")
	b.WriteString("# approve or reject\nverdict: \n")
	if s.Rubric == nil {
		b.WriteString("# 0 to 100; empty: it follows from the criteria\nscore: \n")
	} else {
		fmt.Fprintf(&b, "\n# The score follows from these: each %s. %d passes.\n", s.Rubric.RatingForm("none"),
			s.MinScore)
		for _, name := range s.Rubric.Names() {
			fmt.Fprintf(&b, "%s%s: \n", ratingMark, name)
		}
	}
	for _, c := range s.Task.AcceptanceCriteria {
		if c.Manual() {
			fmt.Fprintf(&b, "\n# %s, %s: %s\n# pass, fail or none, then what it rests on; empty: an approval passes "+
				"it, %s\n%s: \n", c.ID, c.Severity, plain.Line(c.Statement), plan.AsAWhole, formKey(c.ID))
		}
	}
	b.WriteString("\n# Why, and what to change (to the end of the file)\nmessage:\n")
	return b.String()
}

// criterionMark goes before a criterion's id that is also a key of the form's own.
const criterionMark = "criterion "

// ratingMark goes before a dimension.
const ratingMark = "rating "

func formKey(id string) string {
	switch id {
	case "verdict", "score", "message":
		return criterionMark + id
	}
	return id
}

// ParseForm reads a filled-in form. ok is false when the verdict was left empty. Errors name the line.
func ParseForm(text string) (o Opinion, ok bool, err error) {
	o.Criteria = map[string]Ruling{}
	var message []string
	inMessage := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		switch key, value, found := strings.Cut(line, ":"); {
		case strings.HasPrefix(line, "#"):
		case inMessage:
			message = append(message, line)
		case strings.TrimSpace(line) == "":
		case !found:
			return o, false, fmt.Errorf("line %d: expected \"key: value\", found %q", i+1, line)
		case key == "message":
			inMessage = true
			message = append(message, strings.TrimSpace(value))
		default:
			if err := o.set(key, strings.TrimSpace(value)); err != nil {
				return o, false, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	o.Message = strings.TrimSpace(strings.Join(message, "\n"))
	return o, o.Verdict != "", nil
}

func (o *Opinion) set(key, value string) error {
	switch {
	case value == "":
		return nil
	case key == "verdict":
		v, ok := map[string]plan.Verdict{"approve": plan.Approved, "reject": plan.Rejected}[value]
		if !ok {
			return fmt.Errorf("verdict: expected approve or reject, found %q", value)
		}
		o.Verdict = v
	case key == "score":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 100 {
			return fmt.Errorf("score: expected 0 to 100, found %q", value)
		}
		o.Score = &n
	case strings.HasPrefix(key, ratingMark):
		return o.Rate(strings.TrimPrefix(key, ratingMark), value)
	default:
		word, evidence, _ := strings.Cut(value, " ")
		return o.Rule(strings.TrimPrefix(key, criterionMark), strings.TrimSuffix(word, ":"),
			strings.TrimSpace(evidence))
	}
	return nil
}

// Rate adds the rating of a dimension: a number, or "none" where it does not apply.
func (o *Opinion) Rate(dimension, value string) error {
	if o.Ratings == nil {
		o.Ratings = plan.Ratings{}
	}
	if _, twice := o.Ratings[dimension]; twice {
		return fmt.Errorf("rating %s: given twice", dimension)
	}
	if value == "none" {
		o.Ratings[dimension] = nil
		return nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0) {
		return fmt.Errorf("rating %s: expected a number, or none where it does not apply, found %q", dimension, value)
	}
	o.Ratings[dimension] = &n
	return nil
}

// Rule adds a ruling on one criterion; word is "pass", "fail", or "none" to leave it open.
func (o *Opinion) Rule(id, word, evidence string) error {
	result, ok := map[string]string{"pass": plan.ResultPass, "fail": plan.ResultFail,
		"none": plan.ResultNotJudged}[word]
	if !ok {
		return fmt.Errorf("criterion %s: expected pass, fail or none, found %q", id, word)
	}
	if o.Criteria == nil {
		o.Criteria = map[string]Ruling{}
	}
	o.Criteria[id] = Ruling{Result: result, Evidence: evidence}
	return nil
}
