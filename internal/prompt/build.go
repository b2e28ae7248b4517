package prompt

import (
	"fmt"
	"io/fs"
	"slices"
	"text/template"

	"gitwf/internal/contract"
	"gitwf/internal/fault"
)

// DefaultBudget is a prompt's default size limit, in bytes: some 50,000 tokens of English.
const DefaultBudget = 192 << 10

// Prompt is what an agent is told, and what was left out for lack of room.
type Prompt struct {
	Text    string
	Head    string    // what Text begins with: the conventions of the repository; "" without any
	Dropped []Dropped // in the order of Text, cut lists first
}

// Dropped is a text that is missing, in whole or in its middle.
type Dropped struct {
	What  string // input IMPL-3 v1: report.md
	Bytes int    // bytes missing; for a line without a text, those of its name
	Why   string
	kind  string
}

// BudgetError says that the parts that must stay exceed the budget.
type BudgetError struct {
	Role   contract.Role
	Task   string
	Budget int // bytes
	Need   int // bytes of the smallest possible prompt
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("prompt for %s %s: what can't be left out (the task, its criteria, what failed last, the "+
		"contract) takes %d bytes, %d more than the budget of %d; allow at least %d",
		e.Role, e.Task, e.Need, e.Need-e.Budget, e.Budget, e.Need)
}

// Exit returns the command that allows as much.
func (e *BudgetError) Exit() (int, string) {
	return fault.ExitUsage, fmt.Sprintf("git config wf.agent.NAME.budget %d, or shorten the task", e.Need)
}

// Build makes the prompt for a role from the templates in files, prompts/<role>.md and prompts/parts.md, in at most
// budget bytes. It leaves out the least binding parts first; the prompt's end says what is missing. It fails with a
// *BudgetError if the binding parts alone exceed the budget, and with the file and the line if a template is wrong.
func Build(files fs.FS, role contract.Role, d Data, budget int) (Prompt, error) {
	t, err := load(files, role)
	if err != nil {
		return Prompt{}, err
	}
	var head Prompt
	if block := t.Lookup("conventions"); block != nil && len(d.Conventions) > 0 {
		head, _, err = (&builder{block, role, budget / 4, ""}).build(d, nil)
		head.Text += "\n"
	}
	if err != nil {
		return Prompt{}, err
	}
	b := &builder{template: t, role: role, budget: budget, head: head.Text}
	p, need, err := b.build(d, nil)
	if err == nil && need > budget && b.head != "" { // rather none of the conventions than nothing
		gone := Dropped{"the conventions of the repository", len(head.Text),
			fmt.Sprintf("left out to keep within %d bytes", budget), kinds[aConvention].name}
		head, b.head, d.Conventions = Prompt{}, "", nil
		p, need, err = b.build(d, []Dropped{gone})
	}
	if err != nil {
		return Prompt{}, err
	}
	if need > budget {
		return Prompt{}, &BudgetError{role, line(string(d.Task.ID)), budget, need}
	}
	p.Head, p.Dropped = head.Text, append(head.Dropped, p.Dropped...)
	return p, nil
}

type builder struct {
	template *template.Template
	role     contract.Role
	budget   int
	head     string // what the prompt begins with
}

// build leaves texts out and, if that is not enough, one list after the other; gone is what is missing already.
func (b *builder) build(d Data, gone []Dropped) (Prompt, int, error) {
	p, need, err := b.try(d, gone)
	for i := 0; i < len(lists) && err == nil && need > b.budget; i++ {
		shorter, more := d, slices.Clip(gone)
		for _, x := range lists[i].drop(&shorter) {
			what := line(x.what)
			more = append(more, Dropped{
				What: what, Bytes: max(len(x.text), len(what)), Why: fmt.Sprintf("left out to keep within %d bytes",
					b.budget),
				kind: lists[i].name,
			})
		}
		if q, size, failed := b.try(shorter, more); failed != nil || size < need {
			p, need, err = q, size, failed
			d, gone = shorter, more
		}
	}
	return p, need, err
}

// try renders the data and cuts its texts.
func (b *builder) try(d Data, gone []Dropped) (Prompt, int, error) {
	k, err := render(b.template, b.role, d, &masker{})
	if err != nil {
		return Prompt{}, 0, err
	}
	k.pieces[0] = b.head + k.pieces[0]
	p, need := fit(k, b.budget, gone)
	return p, need, nil
}
