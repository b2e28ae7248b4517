package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gopkg.in/yaml.v3"

	"gitwf/internal/contract"
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
	f, err := e.Templates.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return plandoc.Type{}, typeError(name, "there is no template "+file)
	}
	if err != nil {
		return plandoc.Type{}, err
	}
	defer f.Close()
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return plandoc.Type{}, fmt.Errorf("read %s: %w", file, err)
	}
	y, err := parseType(data)
	if err == nil && y.Name != name {
		err = fmt.Errorf("name: expected %s, found %q", name, y.Name)
	}
	if err != nil {
		return plandoc.Type{}, typeError(name, file+": "+err.Error())
	}
	return y, nil
}

// parseType reads the file of a type. An unknown field is an error: a skipped demand is not met.
func parseType(data []byte) (plandoc.Type, error) {
	var file struct {
		plandoc.Type `yaml:",inline"`
		Config       map[string]any `yaml:"config"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		return plandoc.Type{}, err
	}
	text, err := json.Marshal(file.Config)
	if err != nil {
		return plandoc.Type{}, fmt.Errorf("config: %w", err)
	}
	config := json.NewDecoder(bytes.NewReader(text))
	config.DisallowUnknownFields()
	if err := config.Decode(&file.Type.Config); err != nil {
		return plandoc.Type{}, fmt.Errorf("config: %w", err)
	}
	for role := range file.Prompts {
		if r := contract.Role(role); r.Way() != r || r == "" {
			return plandoc.Type{}, fmt.Errorf("prompts.%s: expected plan, action or check", role)
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
