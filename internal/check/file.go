package check

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// File writes a review as the Markdown that people read: APPROVED.md or REJECTED.md. Whatever comes from a plan, a
// command or a person stays text: the lines of it in a fenced block, one line with every character escaped that
// Markdown would obey. So no review shows an image, a link or HTML that its evidence brought along.
func File(r plan.Review) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s %s\n\n", r.Verdict, r.TaskID, r.ReviewedArtifactID)
	b.WriteString("| | |\n| --- | --- |\n")
	row := func(key, value string) { fmt.Fprintf(&b, "| %s | %s |\n", key, value) }
	row("Verdict", "**"+string(r.Verdict)+"**"+reserve(r))
	if must := r.FailedMust(); len(must) > 0 && r.Score >= r.MinScore {
		row("Score", fmt.Sprintf("does not count (%d), because a MUST is not passed: %s", r.Score,
			Inline(strings.Join(must, ", "))))
	} else {
		row("Score", fmt.Sprintf("%d of 100, at least %d needed", r.Score, r.MinScore))
	}
	reviewer := Inline(r.Who())
	if r.SelfReviewed {
		reviewer += " (self-reviewed: the reviewer made this version)"
	}
	if r.Throwaway {
		reviewer += " (in a throwaway repository, where anybody passes for a person)"
	}
	if r.For != "" {
		reviewer += " (for " + Inline(r.For) + ")"
	}
	row("Reviewer", reviewer)
	row("Review", fmt.Sprintf("%s, by task %s", r.ReviewID, r.CheckTaskID))
	row("Version", fmt.Sprintf("%s, tree `%s`", r.ReviewedArtifactID, r.Tree))
	if r.CheckID != "" {
		row("Rests on", "what the engine ran, record "+r.CheckID)
	}
	row("Date", r.CreatedAt.Format("2006-01-02 15:04:05 MST"))

	b.WriteString("\n## Criteria\n\n| | criterion | severity | result | evidence |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range r.Criteria {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", Inline(c.ID), Inline(c.Statement), c.Severity,
			result(c), Inline(lastLine(c.Evidence)))
	}
	ratings(&b, r)
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n## Reasons\n\n%s", fenced(r.Reason))
	}
	change := r.Suggestions
	if len(change) == 0 && r.Verdict == plan.Rejected && r.Reason != "" && !strings.Contains(r.Reason, "\n") {
		change = []plan.Suggestion{{Priority: "HIGH", Text: r.Reason}} // one line is all that somebody said
	}
	if len(change) > 0 {
		b.WriteString("\n## What to change\n\n")
		for _, s := range change {
			fmt.Fprintf(&b, "- **%s** %s\n", s.Priority, Inline(s.Text))
		}
	}
	evidenceInFull(&b, r.Criteria)
	return []byte(b.String())
}

// reserve returns what qualifies an approval, such as concerns; "" for nothing.
func reserve(r plan.Review) string {
	switch {
	case r.Taken():
		return ", with a warning: its rounds are used up"
	case r.Verdict == plan.Approved && r.Rubric != nil && r.Score < r.Rubric.Clear:
		return ", with concerns"
	}
	return ""
}

// ratings shows what the score was computed from.
func ratings(b *strings.Builder, r plan.Review) {
	if r.Rubric == nil || len(r.Ratings) == 0 {
		return
	}
	head := fmt.Sprintf("dimension | weight | 0 to %d", r.Rubric.Scale)
	if r.Rubric.Counts() {
		head = "class | points each | findings"
	}
	fmt.Fprintf(b, "\n## Ratings\n\n| %s |\n| --- | --- | --- |\n", head)
	vetoed := r.Rubric.Vetoed(r.Ratings)
	for _, name := range r.Rubric.Names() {
		said := "does not apply"
		if given := r.Ratings[name]; given != nil {
			said = fmt.Sprint(*given)
		}
		if slices.Contains(vetoed, name) {
			said += " (veto)"
		}
		fmt.Fprintf(b, "| %s | %v | %s |\n", Inline(name), r.Rubric.Weights()[name], said)
	}
}

// evidenceInFull shows the output behind the criteria of which the table has the last line alone.
func evidenceInFull(b *strings.Builder, results []plan.CriterionResult) {
	title := "\n## Evidence\n"
	for _, c := range results {
		if !strings.Contains(strings.TrimSpace(c.Evidence), "\n") {
			continue
		}
		fmt.Fprintf(b, "%s\nOf %s:\n\n%s", title, Inline(c.ID), fenced(c.Evidence))
		title = ""
	}
}

func result(c plan.CriterionResult) string {
	text := map[string]string{
		plan.ResultPass: "pass", plan.ResultFail: "**fail**", plan.ResultWaived: "waived",
		plan.ResultNotJudged: "not judged",
	}[c.Result]
	if c.ExitCode != nil {
		text += fmt.Sprintf(" (exit %d, %d ms)", *c.ExitCode, c.DurationMS)
	}
	return text
}

// lastLine is the last line that says anything, cut to a table's width.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return plain.Clip(s[strings.LastIndexByte(s, '\n')+1:], 160)
}

// cellEscapes keeps every character from its meaning in Markdown: also the beginnings of addresses, which many readers
// make links of where they stand.
var cellEscapes = strings.NewReplacer(
	"\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "\\", `\\`, "|", `\|`, "[", `\[`, "]", `\]`, "`", "\\`", "*", `\*`,
	"_", `\_`,
	"~", `\~`, "&", `\&`, "@", `\@`, "://", `\://`, "www.", `www\.`, "WWW.", `WWW\.`,
)

// Inline makes a text from anywhere fit for one line of Markdown, where it stays text: no link, no image, no HTML.
func Inline(s string) string { return cellEscapes.Replace(plain.Text(s)) }

// fenced makes a text a block of its own, which it can't end: the fence is longer than any run of its character inside.
func fenced(s string) string {
	text, fence := plain.Text(strings.TrimSpace(s)), "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n"
}
