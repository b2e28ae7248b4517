package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// Finding is one thing that is wrong with a plan: where, what was expected, what was found, and what would pass.
type Finding struct {
	Code     string `json:"code"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"` // from 1; zero when it is not known
	Path     string `json:"path,omitempty"` // tasks[3].deliverable_spec.filename
	TaskID   TaskID `json:"task_id,omitempty"`
	Message  string `json:"message"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
	Example  string `json:"example,omitempty"`
}

// Error is the finding on one line, place first.
func (f Finding) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(plain.Line(f.File))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		b.WriteString(": ")
	}
	if f.Path != "" {
		b.WriteString(plain.Line(f.Path) + ": ")
	}
	if f.TaskID != "" {
		b.WriteString(plain.Line(string(f.TaskID)) + ": ")
	}
	b.WriteString(plain.Line(f.Message))
	var more []string
	for _, part := range [][2]string{{"expected ", f.Expected}, {"found ", f.Found}, {"for example ", f.Example}} {
		if part[1] != "" {
			more = append(more, part[0]+plain.Line(part[1]))
		}
	}
	if len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, "; ") + ")")
	}
	return b.String()
}

// Findings lists everything that is wrong, in the order of the file. A list that was cut ends in a
// finding "more".
type Findings []Finding

// maxFindings is how many findings one run reports: more than anybody mends at once.
const maxFindings = 50

// Full reports whether there are more findings than are shown.
func (fs Findings) Full() bool { return len(fs) > maxFindings }

// Error has one line for each finding.
func (fs Findings) Error() string {
	return strings.Join(each.Of(fs, Finding.Error), "\n")
}

// Exit has no hint: each finding says what would pass.
func (fs Findings) Exit() (int, string) { return fault.ExitUsage, "" }

// Err is the findings as an error, nil when there is none.
func (fs Findings) Err() error {
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// Has reports whether a finding has the code.
func (fs Findings) Has(code string) bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Code == code })
}

// CodeMore is the code of the last finding of a list that was cut.
const CodeMore = "more"

// Capped are the findings that are shown; the last one says how many more there are.
func (fs Findings) Capped() Findings {
	if !fs.Full() {
		return fs
	}
	rest := len(fs) - maxFindings
	fs = slices.Clip(fs[:maxFindings])
	return append(fs, Finding{Code: CodeMore, File: fs[0].File, Message: fmt.Sprintf("and %d more", rest)})
}
