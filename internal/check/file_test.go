package check

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// punctuation is what CommonMark lets a backslash escape.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// cells splits a row of a table as GitHub does: at each pipe that no backslash escapes. It returns what the cells show,
// and what of their Markdown would be obeyed instead.
func cells(row string) (shown []string, obeyed string) {
	var b strings.Builder
	runes := []rune(row)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 < len(runes) && strings.ContainsRune(punctuation, runes[i+1]):
			i++
			b.WriteRune(runes[i])
		case r == '|':
			shown = append(shown, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			if strings.ContainsRune("<>[`*_", r) {
				obeyed += string(r)
			}
			b.WriteRune(r)
		}
	}
	return shown, obeyed
}

// hostile are texts with everything that has a meaning somewhere.
func hostile() *rapid.Generator[string] {
	pieces := []string{
		"|", "\\", "\\|", "`", "```", "~~~", "*", "**", "_", "<", ">", "<!--", "-->", "<script>", "[x](http://e.example)",
		"![", "]", "(",
		"\n", "\r", "\r\n", "\n\n", "\n# H", "\n| a | b |", "\n---\n", "\t", "\x1b[31m", "\x1b]0;t\x07", "\u202e", "\u2028",
		"\x85", "\x00", "\xff",
		"a", "word", "表格", "é", " ", "&lt;", "&#124;", "- ", "1. ", "> ",
	}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
	})
}

// shown is what a reader must see of a text: one line, and nothing that a terminal obeys.
func shown(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(plain.Text(s), "\n", " "))
}

// decode reads the two entities that stand for angle brackets.
func decode(s string) string { return strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(s) }

func TestFileKeepsHostileTextInItsCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := hostile()
		r := plan.Review{
			ReviewID: "r1", TaskID: "IMPL-1", CheckTaskID: "CHECK-IMPL-1", ReviewedArtifactID: "v1", Tree: "0123",
			Verdict:  plan.Rejected,
			Reviewer: text.Draw(t, "reviewer"), Reason: text.Draw(t, "reason"), CreatedAt: time.Unix(0, 0).UTC(),
		}
		for range rapid.IntRange(0, 4).Draw(t, "criteria") {
			r.Criteria = append(r.Criteria, plan.CriterionResult{
				ID: text.Draw(t, "id"), Statement: text.Draw(t, "statement"), Severity: plan.Must,
				Result: plan.ResultFail, Evidence: text.Draw(t, "evidence"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "suggestions") {
			r.Suggestions = append(r.Suggestions, plan.Suggestion{Priority: "HIGH", Text: text.Draw(t, "suggestion")})
		}
		checkFile(t, r, string(File(r)))
	})
}

// checkFile reads the file again as a Markdown reader would, section by section.
func checkFile(t *rapid.T, r plan.Review, file string) {
	if i := strings.IndexFunc(file, func(c rune) bool { return c != '\n' && c != '\t' && unicode.IsControl(c) }); i >= 0 {
		t.Fatalf("control character at %d:\n%q", i, file)
	}
	sections := map[string][]string{}
	title, fence := "", ""
	for _, line := range strings.Split(file, "\n") {
		switch {
		case fence != "": // everything is text up to a run of the same length at least
			if trimmed := strings.TrimRight(line, " \t"); strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, "`") == "" {
				fence = ""
			}
			continue
		case strings.HasPrefix(line, "```"):
			fence = line[:strings.LastIndexByte(line, '`')+1]
		case strings.HasPrefix(line, "#"):
			title = line
			if _, twice := sections[title]; twice {
				t.Fatalf("section %q twice:\n%s", title, file)
			}
			sections[title] = nil
		}
		sections[title] = append(sections[title], line)
	}
	if fence != "" {
		t.Fatalf("the evidence does not end:\n%s", file)
	}
	for title := range sections {
		switch title {
		case "# REJECTED: IMPL-1 v1", "## Criteria", "## Reasons", "## What to change", "## Evidence":
		default:
			t.Fatalf("a text made the section %q:\n%s", title, file)
		}
	}
	for _, line := range rows(sections["# REJECTED: IMPL-1 v1"]) {
		got, _ := cells(line)
		if len(got) != 3 || got[1] == "Reviewer" && decode(got[2]) != decode(shown(r.Reviewer)) {
			t.Fatalf("head: %q from %q", got, line)
		}
	}
	criteria := rows(sections["## Criteria"])[2:] // below the names of the columns
	if len(criteria) != len(r.Criteria) {
		t.Fatalf("%d rows for %d criteria:\n%s", len(criteria), len(r.Criteria), file)
	}
	for i, line := range criteria {
		got, obeyed := cells(line)
		if len(got) != 6 {
			t.Fatalf("%d cells: %q", len(got)-1, line)
		}
		c := r.Criteria[i]
		for k, want := range map[int]string{1: c.ID, 2: c.Statement, 5: lastLine(c.Evidence)} {
			if decode(got[k]) != decode(shown(want)) {
				t.Fatalf("cell %d shows %q, not %q: %s", k, got[k], shown(want), line)
			}
		}
		if obeyed != "****" { // **fail** is ours
			t.Fatalf("Markdown of a text is obeyed (%s): %s", obeyed, line)
		}
	}
	for _, line := range sections["## Reasons"] {
		if line != "" && line != "## Reasons" && !strings.HasPrefix(line, "```") {
			t.Fatalf("the reason leaves its block: %q", line)
		}
	}
	items := 0
	for _, line := range sections["## What to change"] {
		if strings.HasPrefix(line, "- **HIGH** ") {
			items++
		} else if line != "" && line != "## What to change" {
			t.Fatalf("a suggestion leaves its line: %q", line)
		}
	}
	want := len(r.Suggestions)
	if want == 0 && r.Reason != "" && !strings.Contains(r.Reason, "\n") {
		want = 1
	}
	if items != want {
		t.Fatalf("%d of %d suggestions", items, want)
	}
}

// rows are the lines of a section that belong to a table.
func rows(lines []string) []string {
	var table []string
	for _, l := range lines {
		if strings.HasPrefix(l, "|") {
			table = append(table, l)
		}
	}
	return table
}

// One case in full, for those who want to see what a review looks like.
func TestFileOfOneReview(t *testing.T) {
	one := 1
	got := string(File(plan.Review{
		ReviewID: "r2", TaskID: "IMPL-1", CheckTaskID: "CHECK-IMPL-1", ReviewedArtifactID: "v3", Tree: "4b82",
		Verdict: plan.Rejected,
		Score:   62, MinScore: 90, Reviewer: "小静", SelfReviewed: true, CheckID: "k4",
		CreatedAt: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Criteria: []plan.CriterionResult{
			{ID: "A1", Statement: "all `links` resolve", Severity: plan.Must, Result: plan.ResultFail,
				Evidence: "looking\n\x1b[1ma|b.html: 404", ExitCode: &one, DurationMS: 12},
			{ID: "A2", Statement: "reads well", Severity: plan.Should, Result: plan.ResultNotJudged},
			{ID: "A3", Statement: "has a title", Severity: plan.Must, Result: plan.ResultWaived, Evidence: "ann: not now"},
		},
		Reason:      "No.\n\n# Not this way",
		Suggestions: []plan.Suggestion{{Priority: "HIGH", Text: "mend <a>"}},
	}))
	want := "# REJECTED: IMPL-1 v3\n\n| | |\n| --- | --- |\n| Verdict | **REJECTED** |\n" +
		"| Score | 62 of 100, at least 90 needed |\n| Reviewer | 小静 (self-reviewed: the reviewer made this version) |\n| Review | r2, by task CHECK-IMPL-1 |\n| Version | v3, tree `4b82` |\n" +
		"| Rests on | what the engine ran, record k4 |\n| Date | 2026-03-04 05:06:07 UTC |\n\n## Criteria\n\n" +
		"| | criterion | severity | result | evidence |\n| --- | --- | --- | --- | --- |\n" +
		"| A1 | all \\`links\\` resolve | MUST | **fail** (exit 1, 12 ms) | \uFFFD\\[1ma\\|b.html: 404 |\n| A2 | reads well | SHOULD | not judged |  |\n" +
		"| A3 | has a title | MUST | waived | ann: not now |\n\n## Reasons\n\n```\nNo.\n\n# Not this way\n```\n\n## What to change\n\n- **HIGH** mend &lt;a&gt;\n\n" +
		"## Evidence\n\nOf A1:\n\n```\nlooking\n\uFFFD[1ma|b.html: 404\n```\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// A rejection says what to change, even if it is one line; a score that is no reason does not stand there as one.
func TestFileOfAnyRejection(t *testing.T) {
	failed := []plan.CriterionResult{{ID: "A1", Statement: "it is red", Severity: plan.Must, Result: plan.ResultFail}}
	open := []plan.CriterionResult{{ID: "A1", Statement: "it is red", Severity: plan.Must, Result: plan.ResultNotJudged}}
	for name, tt := range map[string]struct {
		rev  plan.Review
		want []string
	}{
		"by the engine": {plan.Review{Score: 100, Criteria: failed}, []string{
			"| Score | does not count (100), because a MUST is not passed: A1 |", "| A1 | it is red | MUST | **fail** |"}},
		"in one line": {plan.Review{Score: 0, Criteria: open, Reason: "paint it"}, []string{
			"| Score | 0 of 100, at least 90 needed |", "| A1 | it is red | MUST | not judged |",
			"## What to change\n\n- **HIGH** paint it\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.rev.Verdict, tt.rev.MinScore = plan.Rejected, 90
			got := string(File(tt.rev))
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("lacks %q:\n%s", want, got)
				}
			}
		})
	}
}
