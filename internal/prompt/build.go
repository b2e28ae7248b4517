package prompt

import (
	"fmt"
	"io/fs"
	"sort"
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
		head, _, err = (&builder{block, role, budget / 4, "", map[Text]cleaned{}}).build(d)
		head.Text += "\n"
	}
	if err != nil {
		return Prompt{}, err
	}
	b := &builder{template: t, role: role, budget: budget, head: head.Text, cleaned: map[Text]cleaned{}}
	p, need, err := b.build(d)
	if err != nil {
		return Prompt{}, err
	}
	if need > budget && len(d.Conventions) > 0 { // rather none of them than nothing
		d.Conventions = nil
		p, err := Build(files, role, d, budget)
		p.Dropped = append(p.Dropped, Dropped{What: "the conventions of the repository", Bytes: len(head.Text),
			Why: fmt.Sprintf("left out to keep within %d bytes", budget)})
		return p, err
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
	cleaned  map[Text]cleaned
}

// build leaves texts out and, if that is not enough, cuts one list after the other.
func (b *builder) build(d Data) (Prompt, int, error) {
	var gone []Dropped
	p, need, err := b.try(d, gone)
	for i := 0; i < len(lists) && err == nil && need > b.budget; i++ {
		shorter := d
		most := len(lists[i].keep(&shorter, 0))
		if most == 0 {
			continue
		}
		var none int
		if p, none, err = b.cutList(d, gone, i, 0); err != nil || none >= need {
			continue
		}
		need = none
		if none > b.budget {
			d, gone = b.without(d, gone, i, 0)
			continue
		}
		// The more of the list stays, the longer the prompt: find the most that fits.
		n := sort.Search(most, func(n int) bool {
			_, size, failed := b.cutList(d, gone, i, n+1)
			return failed != nil || size > b.budget
		})
		p, need, err = b.cutList(d, gone, i, n)
	}
	return p, need, err
}

func (b *builder) cutList(d Data, gone []Dropped, list, n int) (Prompt, int, error) {
	d, gone = b.without(d, gone, list, n)
	return b.try(d, gone)
}

// without returns the data with n entries of a list left, and everything missing then.
func (b *builder) without(d Data, gone []Dropped, list, n int) (Data, []Dropped) {
	gone = gone[:len(gone):len(gone)]
	for _, x := range lists[list].keep(&d, n) {
		what := line(x.what)
		gone = append(gone, Dropped{
			What: what, Bytes: max(len(x.text), len(what)), Why: fmt.Sprintf("left out to keep within %d bytes",
				b.budget),
			kind: lists[list].name,
		})
	}
	return d, gone
}

// try renders the data and cuts its texts.
func (b *builder) try(d Data, gone []Dropped) (Prompt, int, error) {
	k, err := render(b.template, b.role, d, &masker{cleaned: b.cleaned})
	if err != nil {
		return Prompt{}, 0, err
	}
	k.pieces[0] = b.head + k.pieces[0]
	p, need := fit(k, b.budget, gone)
	return p, need, nil
}
