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
	"gitwf/internal/plan"
	"gitwf/templates"
)

var typeName = pattern.Compile(`^[a-z][a-z0-9-]{0,39}$`)

// TypeError says what is wrong with a type of plans.
type TypeError struct {
	Name string
	Why  string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("plan type %q: %s", plan.OneLine(e.Name), e.Why)
}

// Exit has the types that there are.
func (e *TypeError) Exit() (int, string) {
	return fault.ExitUsage, "git wf plan --type TYPE, one of " + templates.TypeNames() + ", or one of your own templates"
}

// PlanType reads a type from the templates, the user's own first. It fails with a *TypeError if there is none of the name,
// or if its file is not one.
func (e *Engine) PlanType(name string) (plan.Type, error) {
	if !typeName.Get().MatchString(name) {
		return plan.Type{}, &TypeError{name, "expected a name of lower-case letters, digits and hyphens"}
	}
	file := templates.TypeDir + "/" + name + ".yaml"
	f, err := e.Templates.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Type{}, &TypeError{name, "there is no template " + file}
	}
	if err != nil {
		return plan.Type{}, err
	}
	defer f.Close()
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return plan.Type{}, fmt.Errorf("read %s: %w", file, err)
	}
	y, err := parseType(data)
	if err == nil && y.Name != name {
		err = fmt.Errorf("name: expected %s, found %q", name, y.Name)
	}
	if err != nil {
		return plan.Type{}, &TypeError{name, file + ": " + err.Error()}
	}
	return y, nil
}

// parseType reads the file of a type. What it does not know is an error: a demand that is skipped is not met.
func parseType(data []byte) (plan.Type, error) {
	var file struct {
		plan.Type `yaml:",inline"`
		Config    map[string]any `yaml:"config"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		return plan.Type{}, err
	}
	text, err := json.Marshal(file.Config)
	if err != nil {
		return plan.Type{}, fmt.Errorf("config: %w", err)
	}
	config := json.NewDecoder(bytes.NewReader(text))
	config.DisallowUnknownFields()
	if err := config.Decode(&file.Type.Config); err != nil {
		return plan.Type{}, fmt.Errorf("config: %w", err)
	}
	for role := range file.Prompts {
		if r := contract.Role(role); r.Way() != r || r == "" {
			return plan.Type{}, fmt.Errorf("prompts.%s: expected plan, action or check", role)
		}
	}
	return file.Type, nil
}

// BeginType gives a draft what its type sets, and holds it against the type's rules: it fails with Findings that have their
// places in the file, or with a *TypeError. It may be called more than once.
func (e *Engine) BeginType(d Draft) error {
	err := e.beginType(d.Plan)
	var fs plan.Findings
	if errors.As(err, &fs) {
		return plan.Locate(d.Name, d.Data, fs)
	}
	return err
}

// beginType gives a plan that is to begin what its type sets, and holds what it has against the type's rules.
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

// typeFindings finds where a plan is not one of its type. A type that is not here can't be looked at, and what could not be
// looked at has not passed.
func (e *Engine) typeFindings(p *plan.Plan) (plan.Findings, error) {
	if p == nil || p.PlanType == "" {
		return nil, nil
	}
	y, err := e.PlanType(p.PlanType)
	var unknown *TypeError
	if errors.As(err, &unknown) {
		return plan.Findings{{Code: "unknown-plan-type", Path: "plan_type", Message: unknown.Why, Expected: "a type that is known here", Found: p.PlanType}}, nil
	}
	if err != nil {
		return nil, err
	}
	return y.Check(p), nil
}

// way is what the plan's type says to a role; "" where nothing is said. A plan of a type that is not known here goes on
// without: its rules are looked at when a plan is reviewed.
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
