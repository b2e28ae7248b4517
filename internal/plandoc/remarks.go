package plandoc

import "gitwf/internal/pattern"

// remarks are what a person should look at twice in a command line. They are a help for reading, no guard: a line can
// hide anything.
var remarks = []struct {
	text  string
	found *pattern.Pattern
}{
	{"runs what it fetches", pattern.Compile(
		`(?s)\b(?:curl|wget|fetch)\b[^;&]*\|[^;&]*\b(?:sh|bash|zsh|dash|ksh|fish|python[0-9.]*|perl|ruby|node|php)\b` +
			`|(?:\b(?:sh|bash|zsh|eval|source|python[0-9.]*|perl|node)\b|^\.)[^;&]*(?:\$\(|<\(|` + "`" +
			`)\s*(?:curl|wget|fetch)\b` +
			`|\bnpx\b|\b(?:bunx|pipx run|uvx)\b|\bgo run \S+@`)},
	{"needs the network", pattern.Compile(
		`\b(?:curl|wget|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp|npx|bunx|uvx)\b|(?:https?|ftp|ssh|git)://` +
			`|\bgit\s+(?:clone|fetch|pull|push|ls-remote|submodule)\b` +
			`|\b(?:npm|pnpm|yarn|bun)\s+(?:i|ci|install|add|update|publish)\b` +
			`|\b(?:pip[0-9.]*|pipx|gem|cargo|brew|apt|apt-get|dnf|yum|apk|uv pip)` +
			`\s+(?:install|add|update|upgrade|publish)\b` +
			`|\bgo\s+(?:get|install|run)\s+\S+@|\bdocker\s+(?:pull|push|login)\b`)},
	{"writes outside of its directory",
		pattern.Compile(`>\|?>?\s*"?(?:~|\$\{?HOME|\.\./|/(?:[0-9A-Za-ce-z_.$]|d[^e]|de[^v]))` +
			`|\b(?:rm|mv|cp|tee|mkdir|touch|install|ln|chmod|chown|truncate|dd|rsync)` +
			`\b[^;&|\n]*\s"?(?:of=)?(?:~|\$\{?HOME|\.\./|/(?:$|[^td]|d[^e]|t[^m]))` +
			`|\b(?:sudo|doas|crontab|systemctl)\b|\bgit\s+config\s+--(?:global|system)\b` +
			`|\bgit\s+(?:push|commit|reset|checkout|update-ref)\b`)},
}

// WithRemarks returns the line with the remarks that a reader should have.
func (l CommandLine) WithRemarks() CommandLine {
	l.Remarks = nil
	for _, r := range remarks {
		if r.found.Get().MatchString(l.Line) {
			l.Remarks = append(l.Remarks, r.text)
		}
	}
	return l
}
