package contract

import (
	"fmt"
	"slices"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// Want is what a reply must answer.
type Want struct {
	Role Role
	// of a check: the candidate's; those with a run line are judged by the engine, not by the agent
	Criteria []plan.Criterion
	Rubric   *plan.Rubric  // of a check: what is rated; then a stated score is dropped
	MinScore int           // of a review: the least score that approves
	Tasks    []plan.TaskID // of a feasibility check: the leaves
	Others   []plan.TaskID // of a feasibility check: tasks that are not asked about; Parse drops their estimates
	Limits   plan.Config   // of files: MaxArtifactFiles and MaxArtifactBytes; zero means the default
	Advisers []string      // the roles that a question may go to
	Question plan.Question // of a consult: what is answered

	// FilesElsewhere says that the agent can write into WF_OUT, so that an ARTIFACT may have no files.
	FilesElsewhere bool
}

// Reply is a reply that keeps the contract. Which fields are set follows from Type. Its texts are fit to be printed;
// the contents of files are as the agent wrote them.
type Reply struct {
	Type      ResultType
	Summary   string
	Files     []File
	Needs     []plan.Question // what is asked: name, question, kind, options and whom
	Error     string
	Review    plan.Review // of a REVIEW, what the agent says in it: verdict, score, ratings, suggestions
	Criteria  []ruling    // one for each criterion without a run line, in the order of Want
	Notes     []plan.Note // of an ARTIFACT, an ERROR or a REVIEW: category and text
	Concerns  []plan.Note // of an ARTIFACT or an ERROR: about other tasks, each with its id
	Estimates []estimate  // of some or all of the leaves, each at most once
	Answer    plan.Answer // of an ANSWER: to Want.Question, in its form
}

// File is one file of a deliverable.
type File struct {
	Path       string // passes relpath.Check
	Content    []byte // not nil
	Executable bool
}

// ruling is the verdict on one criterion.
type ruling struct {
	ID       string
	Pass     bool
	Evidence string
}

// estimate is what an agent thinks of one leaf.
type estimate struct {
	TaskID              plan.TaskID
	EstimatedPersonDays float64 // above 0
	OneShotPass         bool
	Why                 string
}

// Parse finds the reply in the text that an agent ended with. If the text breaks the contract, the error is a
// *Violation; any other error says that want makes no sense.
func Parse(want Want, text []byte) (Reply, error) {
	if len(want.Role.Results()) == 0 {
		return Reply{}, fmt.Errorf("parse a reply: unknown role %s", plain.Quote(string(want.Role)))
	}
	object, v := extract(text)
	if v == nil {
		v = checkEnvelope(want.Role, object)
	}
	if v != nil {
		return Reply{}, v.withDefaults()
	}
	def := definition(object)
	found, err := checkSchema(def, object)
	if err != nil {
		return Reply{}, err
	}
	j := replyReader{want: want, def: def, found: found}
	var reply Reply
	if len(found) == 0 {
		reply = j.reply(object)
	}
	if v := j.violation(); v != nil {
		return Reply{}, v
	}
	return reply, nil
}

// checkEnvelope looks at the field on which the meaning of all others depends.
func checkEnvelope(role Role, object map[string]any) *Violation {
	allowed := each.Of(role.Results(), func(r ResultType) string { return string(r) })
	result, ok := object[keyResult].(string)
	if ok && slices.Contains(allowed, result) {
		return nil
	}
	return &Violation{
		Code: codeWrongResult, JSONPath: "$." + keyResult,
		Expected: "for the role " + role.Env() + " one of " + some(allowed),
		Actual:   schema.Short(object[keyResult]), ExampleFix: `"` + keyResult + `": "` + allowed[0] + `"`,
	}
}
