package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gitwf/internal/contract"
	"gitwf/internal/document"
	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/templates"
)

var typeName = pattern.Compile(`^[a-z][a-z0-9-]{0,39}$`)

// typeError says what is wrong with a plan type, and names those there are.
func typeError(name, why string) error {
	return fault.Usage("git wf plan --type TYPE, one of "+templates.TypeNames()+", or one of your own "+
		"templates", "plan type %q: %s", plain.Line(name), why)
}

// PlanType reads a type from the templates, the user's own first. It fails with a *fault.Error if there
// is no such type or its file is invalid.
func (e *Engine) PlanType(name string) (plandoc.Type, error) {
	if !typeName.Get().MatchString(name) {
		return plandoc.Type{}, typeError(name,
			"expected a name of lower-case letters, digits and hyphens")
	}
	file := templates.TypeDir + "/" + name + ".yaml"
	data, err := fs.ReadFile(e.Templates, file)
	if errors.Is(err, fs.ErrNotExist) {
		return plandoc.Type{}, typeError(name, "there is no template "+file)
	}
	if err != nil {
		return plandoc.Type{}, err
	}
	y, err := parseType(file, data)
	if err == nil && y.Name != name {
		err = fmt.Errorf("%s: name: expected %s, found %q", file, name, y.Name)
	}
	if err != nil {
		return plandoc.Type{}, typeError(name, err.Error())
	}
	return y, nil
}

// parseType reads the file of a type. An unknown field is an error: a skipped demand is not met.
func parseType(name string, data []byte) (plandoc.Type, error) {
	var file struct {
		plandoc.Type `yaml:",inline"`
		Config       map[string]any `yaml:"config"`
	}
	if err := document.ReadSettings(name, data, &file); err != nil {
		return plandoc.Type{}, err
	}
	text, err := json.Marshal(file.Config)
	if err == nil {
		config := json.NewDecoder(bytes.NewReader(text))
		config.DisallowUnknownFields()
		err = config.Decode(&file.Type.Config)
	}
	if err != nil {
		return plandoc.Type{}, fmt.Errorf("%s: config: %w", name, err)
	}
	for role := range file.Prompts {
		if r := contract.Role(role); r.Way() != r || r == "" {
			return plandoc.Type{}, fmt.Errorf("%s: prompts.%s: expected plan, action or check", name, role)
		}
	}
	return file.Type, nil
}

// BeginType applies a type to a draft and checks the draft against the type's rules. It fails with Findings that have
// their places in the file, or if there is no such type. It may be called more than once.
func (e *Engine) BeginType(d Draft) error {
	err := e.beginType(d.Plan)
	if fs, ok := errors.AsType[plan.Findings](err); ok {
		return plandoc.Locate(d.Name, d.Data, fs)
	}
	return err
}

// beginType applies a type to a new plan and checks the plan against the type's rules.
func (e *Engine) beginType(p *plan.Plan) error {
	if p.PlanType == "" {
		return nil
	}
	y, err := e.PlanType(p.PlanType)
	if err != nil {
		return err
	}
	y.Begin(p)
	if fs := y.Check(p); len(fs) > 0 {
		return fs
	}
	return nil
}

// typeFindings finds where a plan breaks the rules of its type. A type that is not here has not been kept.
func (e *Engine) typeFindings(p *plan.Plan) (plan.Findings, error) {
	if p == nil || p.PlanType == "" {
		return nil, nil
	}
	y, err := e.PlanType(p.PlanType)
	if unknown, ok := errors.AsType[*fault.Error](err); ok {
		return plan.Findings{{Code: "unknown-plan-type", Path: "plan_type", Message: unknown.Error(),
			Expected: "a type that is known here", Found: p.PlanType}}, nil
	}
	if err != nil {
		return nil, err
	}
	return y.Check(p), nil
}

// way is what the plan's type says to a role; "" for nothing. A plan of an unknown type goes on without: its rules are
// checked when a plan is reviewed.
func (e *Engine) way(p *plan.Plan, role contract.Role) string {
	if p.PlanType == "" {
		return ""
	}
	y, err := e.PlanType(p.PlanType)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(y.Prompts[string(role.Way())])
}
