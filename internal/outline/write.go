package outline

import (
	"cmp"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// written is a plan in the form that people write.
type written struct {
	Title   string               `yaml:"title"`
	TopTask string               `yaml:"top_task"`
	Config  map[string]int       `yaml:"config,omitempty"`
	Roots   []plan.RootCriterion `yaml:"root_acceptance_criteria,omitempty"`
	Tasks   []writtenTask        `yaml:"tasks"`
}

type writtenTask struct {
	TaskID             plan.TaskID        `yaml:"task_id"`
	Title              string             `yaml:"title"`
	Description        string             `yaml:"description,omitempty"`
	DependsOn          []plan.TaskID      `yaml:"depends_on,flow,omitempty"`
	Meta               writtenMeta        `yaml:"meta"`
	Tasks              []writtenTask      `yaml:"tasks,omitempty"`
	EstimateDays       float64            `yaml:"estimated_person_days,omitempty"`
	DeliverableSpec    *writtenSpec       `yaml:"deliverable_spec,omitempty"`
	AcceptanceCriteria []writtenCriterion `yaml:"acceptance_criteria,omitempty"`
	Covers             []string           `yaml:"covers,flow,omitempty"`
}

// writtenMeta keeps what the source claims: nothing of it counts.
type writtenMeta struct {
	Line       int      `yaml:"line"`
	SourceID   string   `yaml:"source_id,omitempty"`
	Status     State    `yaml:"status"`
	StatusWord string   `yaml:"status_word,omitempty"`
	Evidence   []string `yaml:"evidence,omitempty"`
	Needs      string   `yaml:"needs,omitempty"`
}

type writtenSpec struct {
	Filename    string   `yaml:"filename,omitempty"`
	Format      string   `yaml:"format,omitempty"`
	Files       []string `yaml:"files,omitempty"`
	Description string   `yaml:"description"`
}

type writtenCriterion struct {
	ID          string `yaml:"id"`
	Statement   string `yaml:"statement"`
	Run         string `yaml:"run,omitempty"`
	CheckMethod string `yaml:"check_method,omitempty"`
	Severity    string `yaml:"severity,omitempty"`
}

// write puts the plan down as YAML.
func (w *planner) write() ([]byte, error) {
	doc := written{Title: short(w.o.Title, 200), TopTask: plain.Text(w.o.TopTask), Roots: w.roots,
		Tasks: w.tasks(w.o.Tasks)}
	if limit := plan.DefaultConfig().MaxDecompositionDepth; w.depth > limit {
		doc.Config = map[string]int{"max_decomposition_depth": min(w.depth, 50)}
	}
	return plandoc.MarshalYAML(doc)
}

func (w *planner) tasks(tasks []*Task) []writtenTask {
	var out []writtenTask
	for _, t := range tasks {
		to := writtenTask{TaskID: t.ID, Title: t.Title, Description: t.Description, DependsOn: t.DependsOn,
			Tasks: w.tasks(t.Tasks), Meta: writtenMeta{Line: t.Line, SourceID: t.SourceID, Status: t.Status.State,
				StatusWord: t.Status.Word, Evidence: t.Evidence, Needs: t.Needs}}
		if len(t.Tasks) == 0 {
			files, declared := t.spec()
			to.EstimateDays = cmp.Or(t.EstimateDays, defaultDays)
			to.DeliverableSpec = t.writtenSpec(files, declared)
			to.AcceptanceCriteria, to.Covers = t.criteria(files, declared), w.covers[t]
		}
		out = append(out, to)
	}
	return out
}

func (t *Task) writtenSpec(files []string, declared bool) *writtenSpec {
	s := &writtenSpec{Format: "files", Files: files, Description: "A report on the work that the task asks for: " +
		t.Title}
	if declared {
		s.Description = "What the task asks for: " + t.Title
	}
	if len(files) == 1 {
		s.Filename, s.Format, s.Files = files[0], "", nil
		if !strings.Contains(files[0], ".") || strings.HasSuffix(files[0], "."+plan.FormatPlan) {
			s.Format = "text"
		}
	}
	return s
}
