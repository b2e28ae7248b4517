package secret

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// Masked stands in a text where a secret was.
const Masked = "[masked]"

// Mask takes secrets out of texts. It knows the values of some variables, and what keys and tokens of well-known
// services look like. The zero Mask knows only the latter.
type Mask struct{ values []string }

// shortestSecret is the length of the shortest value that is taken for a secret: shorter ones would be struck out of
// innocent words. It is also the least part of a value that is found where a line was cut.
const shortestSecret = 8

// NewMask knows the values of the variables named, and of those whose names end as those of keys do.
func NewMask(environ []string, names ...string) Mask {
	var m Mask
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) >= shortestSecret && (secretName(name) || slices.Contains(names, name)) {
			m.values = append(m.values, value)
		}
	}
	slices.SortFunc(m.values, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	return m
}

func secretName(name string) bool {
	return slices.ContainsFunc(settings.marks, func(end string) bool {
		return strings.HasSuffix(strings.ToUpper(name), end)
	})
}

// A secretForm is what secrets of one kind look like. Each of them contains one of the marks. Looking for those first
// is far cheaper than the expression, and nearly every text has none.
type secretForm struct {
	marks []string
	expr  *pattern.Pattern
}

// tokens are the forms in which well-known services give out keys.
var tokens = secretForm{
	[]string{"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza",
		"npm_", "hf_", "eyJ", "-----BEGIN "},
	pattern.Compile(`\b(?:sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}` +
		`|glpat-[A-Za-z0-9_-]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}` +
		`|(?:AKIA|ASIA)[0-9A-Z]{16}\b|AIza[0-9A-Za-z_-]{35}|npm_[A-Za-z0-9]{36}` +
		`|hf_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})` +
		`|-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`),
}

// settings are what a program prints of its environment. The marks are how the names of such variables end.
var settings = secretForm{
	[]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIALS"},
	pattern.Compile(`\b([A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS)` +
		`["']?[ \t]*[=:][ \t]*["']?)[^\s"'\\]{8,}`),
}

// logins are passwords in addresses.
var logins = secretForm{[]string{"://"}, pattern.Compile(`(://[^/\s:@]+:)[^/\s@]{3,}@`)}

// mask replaces the secrets of this form in s, with with, which may refer to groups of the expression.
func (f secretForm) mask(s, with string) string {
	if !f.marked(s) {
		return s
	}
	return f.expr.Get().ReplaceAllString(s, with)
}

func (f secretForm) marked(s string) bool {
	return slices.ContainsFunc(f.marks, func(mark string) bool { return strings.Contains(s, mark) })
}

// Text is s without secrets. What it makes stays as it is when it is masked again.
func (m Mask) Text(s string) string {
	for _, v := range m.values {
		s = strings.ReplaceAll(s, v, Masked)
	}
	s = m.edges(s)
	if tokens.marked(s) {
		s = tokens.expr.Get().ReplaceAllStringFunc(s, func(token string) string {
			if strings.HasPrefix(token, "sk-") && !strings.ContainsAny(token, "0123456789") {
				return token // words with hyphens
			}
			return Masked
		})
	}
	return logins.mask(settings.mask(s, "${1}"+Masked), "${1}"+Masked+"@")
}

// edges masks what is left of a value at either end of a line: long outputs are recorded without their middle, and the
// cut may go through a value. What is left of it has one of its ends, so nearly every text needs no look at its lines.
func (m Mask) edges(s string) string {
	var cut []string
	for _, v := range m.values {
		if len(v) > shortestSecret &&
			(strings.Contains(s, v[:shortestSecret]) || strings.Contains(s, v[len(v)-shortestSecret:])) {
			cut = append(cut, v)
		}
	}
	if len(cut) == 0 {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		text := strings.TrimSuffix(line, "\n")
		body := strings.TrimPrefix(text, "...")
		dots, end := text[:len(text)-len(body)], line[len(text):]
		for _, v := range cut {
			for n := len(v) - 1; n >= shortestSecret; n-- {
				if rest, ok := strings.CutPrefix(body, v[len(v)-n:]); ok {
					body = Masked + rest
				}
				if rest, ok := strings.CutSuffix(body, v[:n]); ok {
					body = rest + Masked
				}
			}
		}
		b.WriteString(dots + body + end)
	}
	return b.String()
}

// Event is the event without secrets in the texts that agents and commands have written. What they made, and what a
// person says, is not theirs to change: a deliverable is what its reviewers see.
func (m Mask) Event(ev plan.Event) plan.Event {
	switch e := ev.(type) {
	case plan.NewVersion:
		e.Artifact.Summary, e.Artifact.Preparation = m.Text(e.Artifact.Summary), m.prepared(e.Artifact.Preparation)
		e.Artifact.Output = m.Text(e.Artifact.Output)
		e.Artifact.Concerns, e.Notes = m.notes(e.Artifact.Concerns), m.notes(e.Notes)
		return e
	case plan.AddAttempt:
		return m.attempt(e)
	case plan.AddCheck:
		e.Checked.Criteria = m.criteria(e.Checked.Criteria)
		return e
	case plan.AddReview:
		e.Review, e.Notes = m.review(e.Review), m.notes(e.Notes)
		return e
	case plan.StillHolds:
		if e.Author.IsAgent() {
			e.Decision.Reason = m.Text(e.Decision.Reason)
		}
		return e
	case plan.AnswerQuestion:
		if e.Author.IsAgent() {
			e.Answer.Text = m.Text(e.Answer.Text)
		}
		return e
	case plan.Note:
		if e.Author.IsAgent() {
			e.Text = m.Text(e.Text)
		}
		return e
	case plan.Ask:
		e.Attempt = m.attempt(e.Attempt)
		e.Questions = changed(e.Questions, func(q *plan.Question) { q.Question = m.Text(q.Question) })
		return e
	}
	return ev
}

func (m Mask) attempt(e plan.AddAttempt) plan.AddAttempt {
	e.Attempt.Message, e.Attempt.Preparation = m.Text(e.Attempt.Message), m.prepared(e.Attempt.Preparation)
	e.Log = []byte(m.Text(string(e.Log)))
	e.Attempt.Concerns, e.Notes = m.notes(e.Attempt.Concerns), m.notes(e.Notes)
	return e
}

func (m Mask) review(r plan.Review) plan.Review {
	r.Criteria, r.Reason = m.criteria(r.Criteria), m.Text(r.Reason)
	r.Suggestions = changed(r.Suggestions, func(s *plan.Suggestion) { s.Text = m.Text(s.Text) })
	return r
}

func (m Mask) notes(list []plan.Note) []plan.Note {
	return changed(list, func(n *plan.Note) { n.Text = m.Text(n.Text) })
}

func (m Mask) criteria(list []plan.CriterionResult) []plan.CriterionResult {
	return changed(list, func(r *plan.CriterionResult) { r.Evidence = m.Text(r.Evidence) })
}

func (m Mask) prepared(list []plan.Prepared) []plan.Prepared {
	return changed(list, func(p *plan.Prepared) { p.Output, p.Problem = m.Text(p.Output), m.Text(p.Problem) })
}

// changed is a copy of a list with each of its items changed.
func changed[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		change(&list[i])
	}
	return list
}
