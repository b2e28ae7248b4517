package contract

import (
	"fmt"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// The error codes of a Violation. They are stable; doc.go says what each stands for.
const (
	codeEmpty         = "empty"
	codeTooLarge      = "too-large"
	codeNotUTF8       = "not-utf8"
	codeNoReply       = "no-reply"
	codeWrapped       = "wrapped"
	codeDoubleEncoded = "double-encoded"
	codeTwoReplies    = "two-replies"
	codeLeftover      = "leftover"
	codeCutOff        = "cut-off"
	codeSyntax        = "syntax"
	codeDuplicateKey  = "duplicate-key"
	codeTooDeep       = "too-deep"
	codeMissingField  = "missing-field"
	codeUnknownField  = "unknown-field"
	codeWrongType     = "wrong-type"
	codeBadValue      = "bad-value"
	codeWrongVersion  = "wrong-version"
	codeWrongResult   = "wrong-result"
	codeBadPath       = "bad-path"
	codeDuplicatePath = "duplicate-path"
	codeBadEncoding   = "bad-encoding"
	codeUnknownID     = "unknown-id"
	codeDuplicateID   = "duplicate-id"
	codeNotJudged     = "not-judged"
	codeContradiction = "contradiction"
	codeNoFiles       = "no-files"
)

// maxAlso bounds the violations that are listed after the first: an agent that mends its reply wants all, but not a
// thousand.
const maxAlso = 9

// Violation is one way in which a reply breaks the contract. Nothing of such a reply is used. Its texts are fit to be
// printed, and short.
type Violation struct {
	Code string `json:"error_code"` // one of the Code constants
	// the part of the schema that is broken: reply.schema.json#/$defs/review
	Schema     string       `json:"schema"`
	JSONPath   string       `json:"json_path"` // $.criteria[2].evidence; $ for the reply as a whole
	Expected   string       `json:"expected"`
	Actual     string       `json:"actual"`
	ExampleFix string       `json:"example_fix"`    // JSON that would pass at the place, or what to do
	Also       []*Violation `json:"also,omitempty"` // what else is wrong with the same reply, at most nine
}

// CutOff is the violation of a reply that its source says is not whole: an API that stopped at its limit of tokens, a
// log that kept only so much.
func CutOff(why string) *Violation {
	return (&Violation{Code: codeCutOff, Expected: "the object up to its closing brace", Actual: plain.Line(why),
		ExampleFix: cutOffFix}).whole()
}

// NoFiles is the violation of an ARTIFACT without files, here or in the directory for them. there are files that the
// agent left elsewhere.
func NoFiles(out string, there []string) *Violation {
	v := &Violation{Code: codeNoFiles, Expected: "the deliverable, in " + out + " or in files", Actual: "no file",
		ExampleFix: "write the deliverable to " + out}
	if len(there) > 0 {
		v.Actual = "no file there; the working directory has " + strings.Join(there, ", ")
		v.ExampleFix = "move the deliverable to " + out
	}
	return v.whole()
}

const cutOffFix = "send a shorter reply: write large files to the directory that WF_OUT names, and leave files out"

// whole fills in what a violation of the text as such leaves out.
func (v *Violation) whole() *Violation {
	if v.Schema == "" {
		v.Schema = schemaName
	}
	if v.JSONPath == "" {
		v.JSONPath = "$"
	}
	if v.ExampleFix == "" {
		v.ExampleFix = "send one JSON object and nothing else"
	}
	return v
}

// Error is the violation on one line.
func (v *Violation) Error() string {
	s := fmt.Sprintf("the reply breaks the contract: %s: %s: expected %s, got %s", v.JSONPath, v.Code, v.Expected,
		v.Actual)
	if n := len(v.Also); n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Feedback is what goes back to the agent: the violation as JSON, and what to do. It ends in a newline.
func (v *Violation) Feedback() string {
	return "Your reply breaks the contract. It was refused as a whole, and nothing of it was used:\n\n" +
		string(plan.Document(v)) +
		"\nSend the whole reply again, mended: one JSON object, and nothing before or after it.\n"
}

// some lists names, not all of them if they are many.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(plain.Some(names, 20, func(name string) string { return name }), ", ")
}
