package guard

import (
	"strings"

	"gitwf/internal/pattern"
)

// A line is read as a shell does as far as words, quotes and what parts commands go.
var (
	// kept are the parts of a line in which nothing parts words or commands: comments, escapes and quotes.
	kept     = pattern.Compile(`(?:^|[\s;&|()])#[^\n]*|\\(?s:.)|'[^']*'|"(?:\\(?s:.)|[^"\\])*"`)
	escaped  = pattern.Compile("\\\\([$`\"\\\\])")
	inner    = pattern.Compile("\\$\\([^()]*\\)|`[^`]*`")
	redirect = pattern.Compile(`(?:[ \t]\d+|&)?>>?[|&]?[ \t]*([^\s;&|()<>]*)`)
	document = pattern.Compile(`(?:^|[^<])<<-?[ \t]*['"\\]?(\w+)`)
)

// glue makes bytes that a shell would take for more into runes of the private use area, which part nothing.
func glue(text, special string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(special, r) {
			return r + glued
		}
		return r
	}, text)
}

const glued = '\ue000'

// unglue undoes glue.
func unglue(text string) string {
	return strings.Map(func(r rune) rune {
		if r > glued && r < glued+0x80 {
			return r - glued
		}
		return r
	}, text)
}

// commandsOf are the words of a line's commands, also of those in substitutions and subshells. A file that output goes
// to is a word that begins with >. What a substitution prints is not known: a dollar sign stands for it.
func commandsOf(line string) (all [][]string) {
	const special = " \t\r\n;&|()<>#`\"'\\"
	var substituted []string
	text := kept.Get().ReplaceAllStringFunc(withoutDocuments(line), func(part string) string {
		switch last := len(part) - 1; part[0] {
		case '\\':
			return strings.TrimPrefix(glue(part[1:], special+"$"), string(glued+'\n'))
		case '\'':
			return glue(part[1:last], special+"$")
		case '"':
			part = inner.Get().ReplaceAllStringFunc(part[1:last], func(s string) string {
				substituted = append(substituted, strings.Trim(s, "$()`"))
				return "$"
			})
			return glue(escaped.Get().ReplaceAllString(part, "$1"), special)
		}
		return part[:strings.IndexByte(part, '#')]
	})
	text = redirect.Get().ReplaceAllString(text, " >$1 ")
	for command := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n;&|()`", r) }) {
		all = append(all, strings.Fields(command))
	}
	for _, s := range substituted {
		all = append(all, commandsOf(s)...)
	}
	return all
}

// withoutDocuments leaves out the here-documents of a line: they are data.
func withoutDocuments(line string) string {
	var rest []string
	end := ""
	for one := range strings.SplitSeq(line, "\n") {
		if end != "" {
			if strings.Trim(one, "\t\r") == end {
				end = ""
			}
			continue
		}
		rest = append(rest, one)
		m := document.Get().FindStringSubmatch(one)
		if m != nil && strings.Contains(strings.ReplaceAll(line, "\t", "")+"\n", "\n"+m[1]+"\n") {
			end = m[1]
		}
	}
	return strings.Join(rest, "\n")
}
