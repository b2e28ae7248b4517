package exchange

import (
	"errors"
	"strings"

	"gitwf/internal/outline"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func isTask(o *object) bool { return o.has("task_id") }

func isOwnPlan(o *object) bool {
	first, _ := firstOf(o.list("tasks")).(*object)
	return o.has("schema_version") || o.has("root_task_id") || isTask(first) || o.object("plan").has("schema_version")
}

// markdown has the outline reader make a plan of milestones and tasks. Where that finds none, but there are checkboxes,
// these are the tasks.
func (r *reader) markdown(f Found, o Options) *Imported {
	text, ok := r.read(f.Path)
	if !ok {
		return nil
	}
	doc, findings := outline.Parse(f.Path, []byte(text))
	var data []byte
	if len(findings) == 0 {
		data, findings = doc.Plan()
	}
	if len(findings) > 0 {
		if boxLine.Get().MatchString(text) && !outlineLine.Get().MatchString(text) {
			return r.github(f, o)
		}
		r.findings = append(r.findings, findings...)
		return nil
	}
	p, err := plandoc.Parse(f.Path, data)
	if err != nil {
		r.adopt(f.Path, err)
		return nil
	}
	out := &Imported{Plan: p}
	r.notes = append(r.notes, doc.Unread[:min(len(doc.Unread), maxFindings)]...)
	estimates := map[plan.TaskID]float64{}
	doc.Walk(func(t *outline.Task) { estimates[t.ID] = t.EstimateDays })
	for _, t := range p.Tasks {
		if t.NodeType != plan.Action {
			continue
		}
		out.Tasks++
		if estimates[t.TaskID] == 0 { // the outline's own default: the source says nothing
			t.EstimatedPersonDays = o.EstimateDays
		}
		if t.Meta["status"] == string(outline.Done) {
			out.Done = append(out.Done, claimed(t, o))
		}
	}
	root := p.Task(p.RootTaskID)
	root.Meta = map[string]any{keyImported: map[string]any{"format": string(formatMarkdown), "path": f.Path}}
	return out
}

// claimed notes in a task of an outline what of its deliverable is there.
func claimed(t *plan.Task, o Options) Done {
	word, _ := t.Meta["status_word"].(string)
	if word == "" {
		word = string(outline.Done)
	}
	d := Done{Task: t.TaskID, Word: word}
	if t.DeliverableSpec == nil || o.Exists == nil {
		return d
	}
	files := t.DeliverableSpec.Files
	if t.DeliverableSpec.Filename != "" {
		files = []string{t.DeliverableSpec.Filename}
	}
	for _, name := range files {
		if o.Exists(name) {
			d.Files = append(d.Files, name)
		} else {
			d.Missing = append(d.Missing, name)
		}
	}
	note := "Marked \"" + word + "\" in the document, which nobody here has reviewed. "
	if len(d.Files) > 0 && len(d.Missing) == 0 {
		note += "Its files are there: they are handed in as a candidate that awaits review."
		t.Meta[keyImported] = map[string]any{"status": word, "candidate": anyList(d.Files)}
	} else {
		note += "It is open again: its files are not here."
	}
	t.Description = strings.TrimSpace(clipText(t.Description, maxText-len(note)-2) + "\n\n" + note)
	return d
}

// adopt takes over findings of another reader.
func (r *reader) adopt(file string, err error) {
	var fs plan.Findings
	if errors.As(err, &fs) {
		r.findings = append(r.findings, fs...)
		return
	}
	r.find("bad-plan", file, 1, plain.Line(err.Error()), "", "")
}

// ownPlan reads a plan of this program: a plan file, or what JSON wrote.
func (r *reader) ownPlan(f Found, o Options) *Imported {
	text, ok := r.read(f.Path)
	if !ok {
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if v, ok := r.jsonText(f.Path, text, 1); !ok {
			return nil
		} else if doc, _ := v.(*object); doc.object("plan").has("schema_version") {
			data, err := inner(text)
			if err != nil {
				r.find("syntax", f.Path, 1, "is no JSON: "+err.Error(), "", "")
				return nil
			}
			text = string(data)
		}
	}
	p, err := plandoc.Parse(f.Path, []byte(text))
	if err != nil {
		r.adopt(f.Path, err)
		return nil
	}
	p.Grafts = nil
	out := &Imported{Plan: p, Tasks: p.Leaves()}
	for _, t := range p.Tasks {
		if t.NodeType == plan.Action && t.EstimatedPersonDays == 0 {
			t.EstimatedPersonDays = o.EstimateDays
		}
	}
	return out
}
