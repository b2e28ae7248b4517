package exchange

import (
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// item is a task as a source has it, or what gathers tasks. References are ids of the source.
type item struct {
	source   string   // its id there; unique, but for items that are reported and left out
	wish     string   // the id it would like to have here, "" for any
	parent   string   // "" for none
	deps     []string // what must be done before
	soft     []string // of these, what only the order of the source says
	title    string
	text     string   // what is to be done, verbatim
	criteria []string // what its author wants to see
	files    []string // paths and patterns of the repository that it names
	days     float64  // person-days, zero if the source says nothing
	word     string   // the status as the source writes it, "" for none
	heading  bool     // it gathers tasks, and is none itself
	line     int
	file     string

	meta, context map[string]any // of ccw, as they are
	fields        map[string]any // what else the source has
}

// source is what a reader found: the whole, and the tasks.
type source struct {
	format system
	path   string
	name   string // of the plan: the topic of a session, the title of a document
	top    string // the plan's own text, verbatim
	items  []*item
	fields map[string]any // of the whole
	lines  []Line         // of the texts that were read
	id     string         // the plan's, "" for one of its title
}

// state is what a status word of a source comes down to.
type state int

const (
	todo state = iota
	over       // done there, or given up
	unknown
)

var stateWords = map[string]state{
	"completed": over, "complete": over, "done": over, "closed": over, "verified": over, "finished": over, "x": over,
	"resolved": over, "✓": over, "✔": over, "✅": over, "approved": over, "merged": over, "validated": over,
	"shipped": over, "cancelled": over, "canceled": over, "wontfix": over, "won't do": over, "skipped": over,
	"obsolete": over, "not_planned": over, "archived": over, "tombstone": over, "rejected": over,
	"已完成": over, "完成": over, "已取消": over,
	"": todo, "todo": todo, "to do": todo, "open": todo, "pending": todo, "backlog": todo, "ready": todo,
	"planned": todo, "not started": todo, "deferred": todo, "on hold": todo, "blocked": todo, "failed": todo,
	"draft": todo, "new": todo, "active": todo, "in progress": todo, "inprogress": todo, "doing": todo, "wip": todo,
	"review": todo, "in review": todo, "started": todo, "hooked": todo, "container": todo, "pinned": todo,
	"icebox": todo, "待办": todo, "进行中": todo,
	"~": todo, "/": todo, ">": todo, "-": todo, "!": todo, "?": todo, ".": todo, "*": todo,
}

// stateOf returns the state that a word means.
func stateOf(word string) state {
	word = strings.TrimSpace(strings.ToLower(word))
	w := strings.Trim(word, " \t*_`○◯◒●✔✓✅🔄⏳.()[]")
	for _, w := range []string{word, w, strings.NewReplacer("_", " ", "-", " ").Replace(w)} {
		if s, ok := stateWords[w]; ok {
			return s
		}
	}
	return unknown
}

// isDone reports whether there is nothing left to do for an item there.
func (it *item) isDone() bool { return stateOf(it.word) == over }

// pathWord is what looks like a path in text: a directory or more and a file with an extension, or in backticks a name
// of one of both kinds.
var pathWord = pattern.Compile("(?:^|[\\s'\"(\\[,，：（「])((?:\\./)?(?:[\\p{L}\\p{N}_.@+\\[\\](){}*-]+/)+" +
	"[\\p{L}\\p{N}_.+\\[\\](){}*-]*)|`([^`\\s]{2,200})`")

var fileName = pattern.Compile(`^(?:[\w.@+\[\](){}*-]+/)*(?:[\w@+\[\](){}*-][\w.@+\[\](){}*-]*` +
	`\.[A-Za-z][A-Za-z0-9]{0,9}|\.[a-z][\w.-]+|Makefile|Dockerfile|Justfile|Gemfile|Rakefile|Procfile)$`)

// pathsIn are the paths that a text names: a file with its directory, a file or a directory in backticks.
func pathsIn(text string) []string {
	var out []string
	for _, m := range pathWord.Get().FindAllStringSubmatch(text, -1) {
		word, quoted := m[1], false
		if word == "" {
			word, quoted = m[2], true
		}
		word = strings.TrimRight(word, ".,;:)")
		dir := strings.HasSuffix(word, "/") && strings.Count(word, "/") > 0 && (quoted || strings.Count(word, "/") > 1)
		if !dir && !fileName.Get().MatchString(strings.TrimPrefix(word, "./")) || !quoted &&
			!strings.Contains(word, "/") {
			continue
		}
		if p := repositoryPath(word); p != "" && plausible(p) {
			out = each.Add(out, p)
		}
	}
	return out
}

var middle = pattern.Compile(`(?i)\.(?:js|ts|net|io|com|org|py|md)$`)

// plausible reports whether a word is more likely a path than two names with a slash between them ("Node.js/Next.js"),
// a name of a package, or an address.
func plausible(p string) bool {
	parts := strings.Split(p, "/")
	for _, part := range parts[:len(parts)-1] {
		if middle.Get().MatchString(part) {
			return false
		}
	}
	return parts[0] != "@" && parts[0] != "~" && parts[0] != ".git" && !strings.HasPrefix(parts[0], "@") &&
		!(len(parts) == 1 && (dotted.Get().MatchString(p) || strings.Contains(p, "(")))
}

// dotted is a call, a field or a domain rather than a file: fs.readFile, next.config, example.com.
var dotted = pattern.Compile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.(?:com|org|net|io|dev|[a-z]+[A-Z]\w*|length|data` +
	`|status|error|id|name|value|state|props|current|default|exports?|log|get|post|put|delete|env|body|user|map` +
	`|filter|now|parse|stringify)$`)

// repositoryPath is what a source calls a file, as a path or a pattern of a change; "" if it can't be one. Places in
// the file ("login.ts:handle:75-120") and remarks ("(new)") are cut off. Brackets and braces are characters like
// others.
func repositoryPath(s string) string {
	s = strings.TrimSpace(strings.Trim(strings.TrimSpace(s), "`'\""))
	for _, end := range []string{" (", " - ", ":"} {
		s, _, _ = strings.Cut(s, end)
	}
	s = strings.TrimPrefix(strings.TrimSpace(s), "./")
	dir, isDir := strings.CutSuffix(s, "/")
	plain := strings.NewReplacer("[", "x", "]", "x", "{", "x", "}", "x", "*", "x").Replace(dir)
	if s == "" || len(s) > 300 || relpath.CheckBy(plain, func(c string) string {
		if strings.EqualFold(c, ".git") || c == "." || c == ".." {
			return "is no path of a tree"
		}
		return ""
	}) != nil {
		return ""
	}
	for part := range strings.SplitSeq(dir, "/") {
		if part != "**" && strings.Contains(part, "**") {
			return ""
		}
	}
	s = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(dir)
	if isDir {
		s += "/**"
	}
	return s
}

const hoursADay = 8

var effort = pattern.Compile(`(?i)^\s*~?\s*([0-9]{1,5}(?:\.[0-9]{1,3})?)\s*(?:-\s*([0-9]{1,5}(?:\.[0-9]{1,3})?))?` +
	`\s*(m|min|mins|minutes?|h|hr|hrs|hours?|d|days?|person-days?|pd|w|weeks?)\s*$`)

// days converts an effort in words ("4h", "2-3 days") to person-days of eight hours; zero if it is none. The end of a
// span counts.
func days(s string) float64 {
	m := effort.Get().FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	if to, err := strconv.ParseFloat(m[2], 64); err == nil {
		n = max(n, to)
	}
	switch strings.ToLower(m[3])[0] {
	case 'm':
		n /= 60 * hoursADay
	case 'h':
		n /= hoursADay
	case 'w':
		n *= 5
	}
	return min(n, 10_000)
}

// namer gives items ids that are legal here: what the source calls them where that is possible, else the next free
// number.
type namer struct {
	taken  map[plan.TaskID]bool
	next   int
	below  map[plan.TaskID]int
	listed map[string]plan.TaskID // by the id of the source
}

func newNamer() *namer {
	return &namer{taken: map[plan.TaskID]bool{plan.RootID: true}, below: map[plan.TaskID]int{},
		listed: map[string]plan.TaskID{}}
}

var numbered = pattern.Compile(`^[0-9]{1,9}(\.[0-9]{1,9})*$`)

var glued = pattern.Compile(`^((?:[A-Z][A-Z0-9]*-)*[A-Z]+)([0-9]+(?:\.[0-9]+)*)$`)

// legalID is the id itself, in upper case, or with IMPL- before a bare number; "" if it can't be made one.
func legalID(s string) plan.TaskID {
	s = strings.ToUpper(strings.TrimSpace(s))
	if numbered.Get().MatchString(s) {
		s = "IMPL-" + s
	}
	id := plan.TaskID(s)
	if m := glued.Get().FindStringSubmatch(s); !id.Valid() && m != nil {
		id = plan.TaskID(m[1] + "-" + m[2]) // T001 and M1-T2 are T-001 and M1-T-2
	}
	if !id.Valid() || len(s) > 80 || strings.HasPrefix(s, "PLAN-") || strings.HasPrefix(s, "CHECK-") ||
		strings.HasPrefix(s, "GOAL-") {
		return ""
	}
	return id
}

// wanted takes the id that an item wishes to have, if it is legal and free.
func (n *namer) wanted(it *item) bool {
	id := legalID(it.wish)
	if id == "" || n.taken[id] {
		return false
	}
	n.take(it, id)
	return true
}

func (n *namer) take(it *item, id plan.TaskID) {
	n.taken[id] = true
	n.listed[it.source] = id
}

// given takes the next free id: a number of its own, or one below its parent's.
func (n *namer) given(it *item, parent plan.TaskID) {
	const most = 60 // below it, ids stay within the limit
	for {
		var id plan.TaskID
		if parent != "" && len(parent) < most {
			n.below[parent]++
			id = parent + plan.TaskID("."+strconv.Itoa(n.below[parent]))
		} else {
			n.next++
			id = plan.TaskID(fmt.Sprintf("IMPL-%d", n.next))
		}
		if !n.taken[id] {
			n.take(it, id)
			return
		}
	}
}
