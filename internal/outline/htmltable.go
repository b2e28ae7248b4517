package outline

import (
	"regexp"
	"strings"

	"gitwf/internal/pattern"
)

var (
	tableTag = pattern.Compile(`(?i)^<table\b`)
	tableEnd = pattern.Compile(`(?i)</table\s*>`)
	rowTag   = pattern.Compile(`(?is)<tr\b[^>]*>(.*?)(?:</tr\s*>|$)`)
	cellTag  = pattern.Compile(`(?is)<t[hd]\b[^>]*>(.*?)</t[hd]\s*>`)
	anyTag   = pattern.Compile(`(?is)<(/?)(\w+)[^>]*>`)
)

// htmlTable writes a table that stands in tags as Markdown has it, each row with the number of the line that it begins
// on. It reports false, and takes nothing over, where the tags are not those of a plain table.
func (t *tidier) htmlTable() bool {
	if t.at < t.noTable {
		return false
	}
	end := t.at
	for end < len(t.in) && !tableEnd.Get().MatchString(t.in[end].text) {
		end++
	}
	t.noTable = end // nothing up to there is looked at again
	if end == len(t.in) {
		return false
	}
	var text strings.Builder
	for _, l := range t.in[t.at : end+1] {
		text.WriteString(l.text + "\n")
	}
	all := text.String()
	var rows []line
	for _, m := range rowTag.Get().FindAllStringSubmatchIndex(all, -1) {
		if row := tableRow(cellTag.Get(), all[m[2]:m[3]]); row != "" {
			rows = append(rows, line{row, t.in[t.at+strings.Count(all[:m[0]], "\n")].no})
		}
		if len(rows) == 1 {
			rows = append(rows, line{strings.Repeat("| --- ", strings.Count(rows[0].text, " | ")+1) + "|", rows[0].no})
		}
	}
	if len(rows) < 3 {
		return false
	}
	t.leave(0)
	t.gap()
	t.out = append(t.out, rows...)
	t.put(line{"", t.in[end].no})
	t.at = end + 1
	return true
}

func tableRow(cell *regexp.Regexp, s string) string {
	var cells []string
	for _, m := range cell.FindAllStringSubmatch(s, -1) {
		text := clean(anyTag.Get().ReplaceAllString(withoutHTML(m[1]), " "))
		cells = append(cells, strings.ReplaceAll(text, "|", `\|`))
	}
	if len(cells) == 0 {
		return ""
	}
	return "| " + strings.Join(cells, " | ") + " |"
}
