package outline

import (
	"strings"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

var (
	assignment = pattern.Compile(`^(?:[A-Za-z_][A-Za-z0-9_]*=(?:"[^"]*"|'[^']*'|\S*)\s+)+`)
	scriptName = pattern.Compile(`^(?:\.{0,2}[/\\])?[\w.@~$-]+(?:[/\\][\w.@$-]+)*\.(?:sh|bash|zsh|py|js|mjs` +
		`|cjs|ts|rb|pl|ps1|bat|cmd|php|lua|exe)$`)
	localPath  = pattern.Compile(`^(?:\./|\.\./|\.\\|~/|/(?:usr|bin|opt|tmp|sbin|home|app|work)\S*/)[\w.@$/\\-]+$`)
	venvPath   = pattern.Compile(`^\.?[\w.-]*(?:/[\w.-]+)*/bin/[\w.-]+$`)
	prompt     = pattern.Compile(`^(?:[\w.@~/:-]*[$%❯] |PS [^>]*> ?|> )`)
	httpVerb   = pattern.Compile(`^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) `)
	placehold  = pattern.Compile(`^<[^<>]*>$|^\[[^\s\[\]][^\[\]]*\]$|^\{[^\s{}][^{}]*\}$`)
	upperWords = pattern.Compile(`^[A-Z]+ `)
)

// looksCommand reports whether code is a command line rather than a name, a path or a value. With strong, an
// expectation follows it, and a script's name or a single word of a command will do.
func looksCommand(code string, strong bool) bool {
	s := strings.TrimSpace(code)
	s = strings.TrimSpace(prompt.Get().ReplaceAllString(s, ""))
	if s == "" || placehold.Get().MatchString(s) || httpVerb.Get().MatchString(s) ||
		strings.ContainsAny(firstRune(s), "<>|=:,;@#\"'") {
		return false
	}
	rest := assignment.Get().ReplaceAllString(s, "")
	assigned := rest != s
	word, args, _ := strings.Cut(rest, " ")
	args = strings.TrimSpace(args)
	name := strings.TrimSuffix(word, ";")
	base := name[strings.LastIndexAny(name, `/\`)+1:]
	switch {
	case name == "":
		return false
	case args == "":
		return listed("program alone", name) || assigned && listed("program", base) || localPath.Get().MatchString(name) &&
			(scriptName.Get().MatchString(name) || strong || strings.HasPrefix(name, "./") && !strings.Contains(base, ".")) ||
			strong && (scriptName.Get().MatchString(name) || listed("program", name) || localPath.Get().MatchString(name) ||
				strings.HasPrefix(base, "mvnw") || strings.HasPrefix(base, "gradlew"))
	case strings.HasPrefix(args, "=") || strings.HasPrefix(args, ":") || strings.HasPrefix(args, "→"):
		return false
	case listed("program", name):
		return plausible(name, args)
	case scriptName.Get().MatchString(name), localPath.Get().MatchString(name), venvPath.Get().MatchString(name):
		return true
	}
	// A program of the project's own: only an expectation, or an option, tells it from a phrase.
	return strong && (strings.Contains(args, "-") || !strings.ContainsAny(args, "，。：")) &&
		!upperWords.Get().MatchString(s) && isProgramName(name)
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

func isProgramName(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/\\+", r)) {
			return false
		}
	}
	return s[0] != '-' && !strings.HasSuffix(s, ".")
}

// plausible tells commands from phrases that begin with a word that is also a program: "test coverage", "file name".
func plausible(name, args string) bool {
	if hasHan(args) && !strings.ContainsAny(args, "-\"'/$") {
		return false
	}
	if listed("program or word", name) {
		return !prosy(args)
	}
	switch name {
	case "for", "while", "if":
		return strings.Contains(args, "; do ") || strings.Contains(args, "; then ")
	case "(", "{", "[", "[[", "!":
		return strings.ContainsAny(args, "-=$&|") || looksCommand(strings.TrimLeft(args, "("), false)
	}
	return true
}

// prosy reports words of a sentence: several, none of which a command would have.
func prosy(args string) bool {
	words := strings.Fields(args)
	for _, w := range words {
		if len(words) == 1 && len(w) < 3 {
			return false
		}
		if listed("argument of a sentence", w) {
			return true
		}
	}
	return false
}

// found is a command in a text, and what the text expects of it.
type foundCommand struct {
	command string
	expect  string
	start   int  // index of its span
	end     int  // index of the span behind the expectation
	pointed bool // an arrow leads to the expectation
}

// arrowSigns lead from code to what it has to show, where nothing else stands.
const arrowSigns = `(?:→|⇒|=>|-->|->)`

var arrow = pattern.Compile(`^\s*[）)\]]?\s*(?:-{1,2}>|={1,2}>|[→⇒➜➔⟶⟹—–]+>?|⇨)\s*`)

// verbs begin an expectation without an arrow.
var verbs = withWords(`(?i)^\s*[，,:：（(]?\s*(?:(?:{before an expectation})\s*)*` +
	`(?:{expectation, whole}|(?:be|is|are|equals?)\s+(?:[<>=≥≤\d]|at |exactly|empty|zero|non)|[<>=≥≤]|!=|0 )`)

var lead = pattern.Compile(`^\s*[，,:：]?\s*`)

// pointer is an arrow that leads from a command to what it has to show; a dash may be one in running text.
var pointer = pattern.Compile(`^\s*[）)\]]?\s*(?:-{1,2}>|={1,2}>|＝>|[→⇒➜➔⟶⟹⇨])\s*`)

// commandsIn finds the commands of a text. Code in front of an arrow and an expectation is one whatever it looks like.
func commandsIn(parts []span, strongAll bool) []foundCommand {
	var out []foundCommand
	for i := 0; i < len(parts); i++ {
		if !parts[i].code {
			continue
		}
		f := foundCommand{start: i, end: i + 1}
		f.command, f.expect, f.pointed = commandAt(parts, i, strongAll)
		if f.command == "" {
			continue
		}
		if f.expect == "" {
			f.expect, f.end = expectation(parts, i+1)
		}
		if i > 0 && exitBefore.Get().MatchString(parts[i-1].text) {
			f.expect = exitIs.Get().ReplaceAllString(f.expect, "exit $1")
		}
		out = append(out, f)
		i = f.end - 1
	}
	return out
}

// commandAt is the command in the span i, with what it expects if that stands inside of the span too; "" if it is none.
// pointed says that an arrow follows it.
func commandAt(parts []span, i int, strongAll bool) (command, inner string, pointed bool) {
	follows := ""
	if i+1 < len(parts) && !parts[i+1].code {
		follows = parts[i+1].text
	}
	code := parts[i].text
	if a, b, ok := arrowInside(code); ok && (looksCommand(a, true) || isThreshold(b)) {
		return trimPrompt(a), strings.TrimSpace(b), true
	}
	pointed = pointer.Get().MatchString(follows) && pointsAt(parts, i)
	strong := strongAll || pointed || arrow.Get().MatchString(follows) && isExpectation(follows, i+2 < len(parts)) ||
		verbs.Get().MatchString(follows)
	pointed = pointed || exitFollows.Get().MatchString(follows)
	if !looksCommand(code, strong) && !(pointed && !placehold.Get().MatchString(code)) {
		return "", "", false
	}
	return trimPrompt(code), "", pointed
}

var exitFollows = pattern.Compile(`(?i)^\s*[，,:：（(]?\s*(?:exits?(?: with)?(?: code| status)? ?0\b` +
	`|退出[码碼]\s*(?:为|是|=|:|：)?\s*0)`)

// "Exit code of `x` is 3", "`x` 的退出码为 3".
var (
	exitBefore = pattern.Compile(`(?i)(?:exit (?:code|status) of|退出码)\s*$`)
	exitIs     = pattern.Compile(`^(?:is|must be|should be|=|为|是|等于)?\s*(\d{1,3})$`)
)

func trimPrompt(s string) string {
	return strings.TrimSpace(prompt.Get().ReplaceAllString(strings.TrimSpace(s), ""))
}

// pointsAt tells an arrow to a result from one to the next thing: `a` -> `b` is a renaming, `a` -> `>= 1` is not.
func pointsAt(parts []span, i int) bool {
	rest := strings.TrimSpace(pointer.Get().ReplaceAllString(parts[i+1].text, ""))
	if strings.Trim(rest, " .。,，;；)）|") != "" {
		return true
	}
	return i+2 < len(parts) && isThreshold(parts[i+2].text)
}

var innerArrow = pattern.Compile(`\s+` + arrowSigns + `\s+`)

var innerLimit = pattern.Compile(`[^#\s](\s+)(?:>=|<=|≥|≤)\s*-?\d+(?:\.\d+)?\s*%?$`)

// arrowInside splits code that holds its expectation too: `go test ./... -> exit 0`.
func arrowInside(code string) (string, string, bool) {
	at := innerArrow.Get().FindStringIndex(code)
	if limit := innerLimit.Get().FindStringSubmatchIndex(code); at == nil && limit != nil &&
		!strings.HasPrefix(code, "test ") && !strings.HasPrefix(code, "[") {
		return code[:limit[2]], code[limit[3]:], true
	}
	if at == nil || strings.Contains(code[:at[0]], "'") && strings.Count(code[:at[0]], "'")%2 == 1 ||
		strings.Count(code[:at[0]], `"`)%2 == 1 {
		return "", "", false
	}
	return code[:at[0]], code[at[1]:], true
}

// isExpectation reports that something follows behind a dash.
func isExpectation(s string, codeFollows bool) bool {
	rest := strings.TrimSpace(arrow.Get().ReplaceAllString(s, ""))
	return rest != "" || codeFollows
}

// expectation is the text behind a command up to the next command or the end of the clause.
func expectation(parts []span, i int) (string, int) {
	if i >= len(parts) || parts[i].code {
		return "", i
	}
	first := parts[i].text
	isArrow := arrow.Get().MatchString(first)
	if !isArrow && !verbs.Get().MatchString(first) {
		return "", i
	}
	var b strings.Builder
	for ; i < len(parts); i++ {
		p := parts[i]
		if p.code {
			if next, _, _ := commandAt(parts, i, false); next != "" &&
				strings.TrimSpace(strings.TrimLeft(b.String(), " -=>→⇒—–")) != "" {
				break
			}
			b.WriteString("`" + p.text + "`")
			continue
		}
		text, ended := clause(p.text)
		b.WriteString(text)
		if ended {
			i++
			break
		}
	}
	s := b.String()
	if isArrow {
		s = arrow.Get().ReplaceAllString(s, "")
	}
	s = unwrapped(lead.Get().ReplaceAllString(s, ""))
	s = strings.TrimRight(strings.TrimSpace(s), " ，,;；。、|")
	for _, tail := range []string{" and", "并且", "且", " then", "，然后", "(", "（", "和", "；", " or"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, tail))
	}
	return balance(prose(strings.TrimSpace(s))), i
}

var expectLead = withWords(`^(?i)\s*(?:then\b|(?:{announcement})\s*[:：]?)\s*`)

// unwrapped takes off the parentheses around an expectation, and the word that announces it.
func unwrapped(s string) string {
	s = strings.TrimSpace(s)
	if r := []rune(strings.TrimRight(s, " .。,，;；")); len(r) > 2 &&
		(r[0] == '(' && r[len(r)-1] == ')' || r[0] == '（' && r[len(r)-1] == '）') &&
		strings.Count(s, "(")+strings.Count(s, "（") == 1 {
		s = string(r[1 : len(r)-1])
	}
	if bare := expectLead.Get().ReplaceAllString(s, ""); bare != "" {
		return bare
	}
	return s
}

var clauseEnd = pattern.Compile(`[；;。]|\.\s+[A-Z]|\.$`)

// clause is the part of a text that belongs to an expectation: up to the end of the clause, and on while the next one
// is an expectation itself.
func clause(s string) (string, bool) {
	end := 0
	for {
		at := clauseEnd.Get().FindStringIndex(s[end:])
		if at == nil {
			return s, false
		}
		from, rest := end+at[0], s[end+at[1]:]
		next, _, _ := strings.Cut(strings.TrimSpace(rest), "；")
		next, _, _ = strings.Cut(next, ";")
		next, _, _ = strings.Cut(next, "。")
		if !isThreshold(next) || strings.HasSuffix(s[from:end+at[1]], ".") {
			return s[:from], true
		}
		end += at[1]
	}
}

// balance drops a parenthesis that closes what began before the command.
func balance(s string) string {
	for _, pair := range []string{"()", "（）", "[]"} {
		rs := []rune(pair)
		if strings.HasSuffix(s, string(rs[1])) && strings.Count(s, string(rs[0])) < strings.Count(s, string(rs[1])) {
			s = strings.TrimSpace(strings.TrimSuffix(s, string(rs[1])))
		}
	}
	return s
}
