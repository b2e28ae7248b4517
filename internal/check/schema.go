package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// What is held against a schema may be hostile. More than these is a failure, as is what can't be read.
const (
	maxDocument  = 4 << 20 // bytes
	maxSteps     = 2_000_000
	mostFindings = 20
)

// keeps checks a file of the candidate against a criterion's schema.
func (s Setup) keeps(ctx context.Context, c plan.Criterion) (plan.CriterionResult, error) {
	dir, leave, err := s.place(ctx, c, false)
	if err != nil {
		return plan.CriterionResult{}, err
	}
	defer leave()
	text, err := json.Marshal(c.Schema)
	if err != nil {
		return plan.CriterionResult{}, err
	}
	name, wrong := judged(dir, s.Dir, c.File)
	if wrong == "" {
		wrong = holdAgainst(dir, name, text)
	}
	if wrong != "" {
		return c.NewResult(plan.ReviewerChecks, plan.ResultFail, wrong), nil
	}
	return c.NewResult(plan.ReviewerChecks, plan.ResultPass, plain.Line(name)+" keeps the schema"), nil
}

// judged is the path of the file that a criterion names, or of the only one.
func judged(root, dir, file string) (name, wrong string) {
	if file != "" {
		return path.Join(dir, file), ""
	}
	var found []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && len(found) < 2 {
			rel, relErr := filepath.Rel(root, p)
			found, err = append(found, filepath.ToSlash(rel)), relErr
		}
		return err
	})
	switch {
	case err != nil:
		return "", "the candidate can't be read: " + plain.Line(err.Error())
	case len(found) == 1:
		return found[0], ""
	case len(found) == 0:
		return "", "there is no file"
	}
	return "", "there are several files, and the criterion names none"
}

// holdAgainst says how a file fails a schema, "" if it does not.
func holdAgainst(root, name string, text []byte) string {
	shown := plain.Line(name)
	rules, err := schema.Read(text)
	if err != nil {
		return "the schema can't be used: " + plain.Line(err.Error())
	}
	f, err := os.OpenInRoot(root, filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no file " + shown
	}
	if err != nil {
		return shown + " can't be read: " + plain.Line(err.Error())
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return shown + " is no regular file"
	}
	data, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	switch {
	case err != nil:
		return shown + " can't be read: " + plain.Line(err.Error())
	case len(data) > maxDocument:
		return fmt.Sprintf("%s has more than %d bytes", shown, maxDocument)
	}
	value, err := document.Load(name, data)
	if err != nil {
		return shown + ": " + plain.Line(err.Error())
	}
	problems, err := rules.CheckWithin(value, maxSteps)
	if err != nil {
		return shown + ": " + err.Error()
	}
	return findings(shown, problems)
}

// findings lists what does not fit, each with its place, what was expected and what was found.
func findings(name string, problems []schema.Problem) string {
	if len(problems) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s does not keep the schema, in %s", name, plain.Count(len(problems), "place"))
	for i, p := range problems {
		found := p.Found()
		if p.Keyword == schema.Type {
			found = schema.Short(p.Got) // the value tells its maker more than its type
		}
		line := fmt.Sprintf("\n%s: expected %s, found %s", plain.Line(p.Place()), plain.Line(p.Expected()),
			plain.Line(found))
		if more := len(problems) - i; i == mostFindings || b.Len()+len(line) > maxEvidence-40 {
			fmt.Fprintf(&b, "\nand %d more", more)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
