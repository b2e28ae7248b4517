package plandoc

import (
	"fmt"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Summary is what is known about an approved version: what its maker recorded, and the newest review that approved it.
// The artifact of a pruned version has only its ArtifactID. Review is nil if there is none.
type Summary struct {
	Artifact plan.Artifact
	Review   *plan.Review
}

// What a summary has of each thing at most: it is read by people, and by every task that builds on it.
const (
	maxSummaryFiles    = 50
	maxSummaryText     = 4000 // bytes of what the maker says
	maxSummaryEvidence = 400  // bytes of the evidence for one criterion
)

// Text is the summary in Markdown: what was done, files, integration points, tests with their
// evidence, notes for later tasks. The tasks that build on it and people, in .summaries/, read the
// same text. users are the tasks that build on it.
func (s Summary) Text(t *plan.Task, users []plan.TaskID) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s: %s\n\n## What was done\n\n", t.TaskID, s.Artifact.ArtifactID, plain.Line(t.Title))
	if text := strings.TrimSpace(plain.Text(s.Artifact.Summary)); text != "" {
		b.WriteString(noHeadings(clip(text, maxSummaryText)) + "\n\n")
	}
	b.WriteString(s.origin() + "\n")
	section(&b, "Files", "", s.files())
	section(&b, "Integration points", "", integration(t, users))
	if s.Review != nil {
		verdict := fmt.Sprintf("Approved by %s, score %d. %s", plain.Line(s.Review.Reviewer), s.Review.Score,
			clip(plain.Line(s.Review.Reason), maxSummaryText))
		section(&b, "Tests", strings.TrimSpace(verdict), tests(s.Review))
	}
	section(&b, "Notes for later tasks", "", s.notes())
	return b.String()
}

func section(b *strings.Builder, title, before string, lines []string) {
	if before == "" && len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if before != "" {
		b.WriteString(before + "\n")
	}
	for _, l := range lines {
		b.WriteString("- " + l + "\n")
	}
}

func (s Summary) origin() string {
	a := s.Artifact
	if a.Agent == "" {
		return "What it held was pruned."
	}
	text := fmt.Sprintf("By %s, %s", plain.Line(a.Agent), a.CreatedAt.UTC().Format("2006-01-02 15:04:05Z"))
	if len(a.Inputs) > 0 {
		text += ", from " + strings.Join(plain.Some(a.Inputs, len(a.Inputs), func(in plan.Input) string {
			return plain.Line(string(in.TaskID) + " " + in.ArtifactID)
		}), ", ")
	}
	return text + "."
}

func (s Summary) files() []string {
	return plain.Some(s.Artifact.Files, maxSummaryFiles, func(f plan.FileInfo) string {
		return code(f.Path) + ", " + plain.Count(int(f.Size), "byte")
	})
}

// integration is where the work meets other work: the places that the task was to change, and who builds on it.
func integration(t *plan.Task, users []plan.TaskID) []string {
	targets, _ := texts(t.FlowControl["target_files"])
	return append(plain.Some(targets, maxSummaryFiles, code),
		plain.Some(users, maxSummaryFiles, func(id plan.TaskID) string { return string(id) + " builds on it" })...)
}

func tests(r *plan.Review) []string {
	var lines []string
	for _, c := range r.Criteria {
		line := fmt.Sprintf("%s %s: %s", plain.Line(c.ID), plain.Line(c.Result), plain.Line(c.Statement))
		if evidence := clip(plain.Line(c.Evidence), maxSummaryEvidence); evidence != "" {
			line += fmt.Sprintf(" (%s: %s)", plain.Line(c.By), evidence)
		}
		lines = append(lines, line)
	}
	return lines
}

func (s Summary) notes() []string {
	if s.Review == nil {
		return nil
	}
	lines := each.Pick(s.Review.Criteria, func(c plan.CriterionResult) (string, bool) {
		return plain.Line(c.ID) + " does not hold: it was waived", c.Result == plan.ResultWaived
	})
	for _, sg := range s.Review.Suggestions {
		lines = append(lines, fmt.Sprintf("%s (%s)", plain.Line(sg.Text), plain.Line(sg.Priority)))
	}
	return lines
}

func code(s string) string { return "`" + strings.ReplaceAll(plain.Line(s), "`", "'") + "`" }

// clip is the beginning of a text.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " ..."
}

// noHeadings keeps what an agent says from looking like a section of what is known.
func noHeadings(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if rest := strings.TrimLeft(l, " \t"); strings.HasPrefix(rest, "#") || strings.Trim(rest, "=-") == "" &&
			rest != "" {
			lines[i] = `\` + rest
		}
	}
	return strings.Join(lines, "\n")
}
