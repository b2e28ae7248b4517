package outline

import (
	"html"
	"regexp"
	"strings"
)

var (
	tableTag = compile(`(?i)^<table\b`)
	tableEnd = compile(`(?i)</table\s*>`)
	rowTag   = compile(`(?is)<tr\b[^>]*>(.*?)(?:</tr\s*>|$)`)
	cellTag  = compile(`(?is)<t[hd]\b[^>]*>(.*?)</t[hd]\s*>`)
	anyTag   = compile(`(?is)<(/?)(\w+)[^>]*>`)
)

// htmlTable writes a table that stands in tags as Markdown has it, each row with the number of the line that it begins on. It
// reports false, and takes nothing over, where the tags are not those of a plain table.
func (t *tidier) htmlTable() bool {
	if t.at < t.noTable {
		return false
	}
	end := t.at
	for end < len(t.in) && !tableEnd.get().MatchString(t.in[end].text) {
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
	if strings.Count(strings.ToLower(all), "<table") > 1 {
		return false
	}
	var rows []line
	for _, m := range rowTag.get().FindAllStringSubmatchIndex(all, -1) {
		if row := tableRow(cellTag.get(), all[m[2]:m[3]]); row != "" {
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
		text := codeTag.get().ReplaceAllStringFunc(m[1], func(c string) string {
			return "`" + html.UnescapeString(c[len("<code>"):len(c)-len("</code>")]) + "`"
		})
		text = anyTag.get().ReplaceAllStringFunc(text, func(tag string) string {
			if strings.HasPrefix(strings.ToLower(tag), "<br") {
				return "<br>"
			}
			return " "
		})
		text = strings.Join(strings.Fields(text), " ")
		cells = append(cells, strings.ReplaceAll(text, "|", `\|`))
	}
	if len(cells) == 0 {
		return ""
	}
	return "| " + strings.Join(cells, " | ") + " |"
}
