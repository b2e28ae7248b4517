package guard

import (
	_ "embed" // of the table
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/pattern"
)

// Rules are what a guard has to know of the program and of the place.
type Rules struct {
	Decides func(words []string) bool // a command of git wf is a person's decision; the words after wf
	GitDir  func(path string) string  // a path as seen from the git directory; "" if it is not below it
	Dir     string                    // where the line runs
	Marks   []string                  // the variables by which agents are known
}

// Refusal says what a call must not do, and what is right instead.
type Refusal struct{ What, Instead string }

func (r *Refusal) Error() string { return r.What + "\n" + r.Instead }

//go:embed rules.txt
var table string

// rule is a refusal, and the commands that it is for: words with spaces between them and a bar after the options of git
// itself, and one before the line that the command is part of.
type rule struct {
	Refusal
	of []*regexp.Regexp
}

// known are the rules of the table: a line that begins with a name, one with what is right, and patterns.
var known = sync.OnceValue(func() map[string]*rule {
	all := map[string]*rule{}
	var now *rule
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case line[0] == '^' || line[0] == '(':
			now.of = append(now.of, regexp.MustCompile(line))
		case now != nil && now.Instead == "":
			now.Instead = line
		default:
			now = &rule{Refusal: Refusal{What: rest}}
			all[name] = now
		}
	}
	return all
})

// Of is the refusal of a name in the table.
func Of(name string) *Refusal { return &known()[name].Refusal }

var (
	assigned = pattern.Compile(`^\w+=`)
	duration = pattern.Compile(`^[\d.]+[smhd]?$`)
	ofGit    = pattern.Compile(`^git( -[cC] \S+| --(git-dir|work-tree|namespace|config-env) \S+| -\S+)*`)
)

// lists are the words of a name in the table.
func lists(name string) (first, second []string) {
	return strings.Fields(known()[name].What), strings.Fields(known()[name].Instead)
}

// Line says what a command line must not do; nil if it may run.
func (r Rules) Line(line string) *Refusal { return r.line(line, "", 0) }

// line looks at a line. above are the words that came before it and say in which environment it runs.
func (r Rules) line(line, above string, depth int) *Refusal {
	if !strings.Contains(strings.ToLower(line), "git") || depth > mostNested {
		return nil
	}
	for _, c := range commandsOf(line) {
		if slices.ContainsFunc(c.writes, r.guarded) {
			return Of("files")
		}
		words := c.words
		for i, w := range words {
			words[i] = strings.NewReplacer(" ", "\x01", "\n", "\x01", "|", "\x01").Replace(w)
		}
		n := leading(words)
		first, words := strings.Join(append(words[:n:n], ""), " "), words[n:]
		if len(words) == 0 || words[0] == "export" || words[0] == "unset" {
			above += strings.Join(append(c.words, ""), " ")
		}
		if refused := r.command(first, above+first, words, line, depth); refused != nil {
			return refused
		}
		if len(words) > 1 && words[0] == "cd" {
			r.Dir = r.from(words[1])
		}
	}
	return nil
}

// leading is how many words of a command stand before its program.
func leading(words []string) (n int) {
	before, takes := lists("before")
	for n < len(words) {
		switch w := path.Base(words[n]); {
		case slices.Contains(before, w):
			for n++; n < len(words) && (strings.HasPrefix(words[n], "-") || duration.Get().MatchString(words[n])); n++ {
				if words[n] == "-S" {
					return n + 1
				}
				if slices.Contains(takes, words[n]) && (w != "env" || words[n] != "-i") {
					n++
				}
			}
			n = min(n, len(words))
		case assigned.Get().MatchString(words[n]):
			n++
		default:
			return n
		}
	}
	return n
}

// command looks at a program, its arguments, and what stands before it.
func (r Rules) command(first, above string, words []string, line string, depth int) *Refusal {
	if len(words) == 0 {
		words = []string{""}
	}
	if strings.HasSuffix(first, "-S ") { // of env: a line in one word
		return r.line("env "+strings.ReplaceAll(strings.Join(words, " "), "\x01", " "), above, depth+1)
	}
	if words[0] = path.Base(words[0]); words[0] == "git-wf" {
		words = append([]string{"git", "wf"}, words[1:]...)
	}
	text := strings.Join(append(words, ""), " ")
	head := ofGit.Get().FindString(text)
	rest, _, _ := strings.Cut(text[len(head):], " -- ")
	whole := head + " |" + known()["values"].of[0].ReplaceAllString(rest, "$1") + " |" +
		strings.ReplaceAll(line, "\n", " ")
	for _, name := range []string{"skips", "sets", "plans"} {
		for _, re := range known()[name].of {
			if re.MatchString(whole) || name == "sets" && re.MatchString(first+text) {
				return Of(name)
			}
		}
	}
	args := slices.Clone(words[1:])
	for i, w := range args {
		args[i] = strings.ReplaceAll(w, "\x01", " ")
	}
	switch program := words[0]; program {
	case "sh", "bash", "zsh", "dash", "ksh", "script", "su":
		at := slices.IndexFunc(args, func(a string) bool { return strings.TrimLeft(a, "-abdefhilqruvx") == "c" })
		if at >= 0 && at+1 < len(args) {
			return r.line(args[at+1], above, depth+1)
		}
	case "eval":
		return r.line(strings.Join(args, " "), above, depth+1)
	case "git":
		if sub := strings.Fields(rest); len(sub) > 1 && sub[0] == "wf" {
			return r.wf(above, sub[1:])
		}
	default:
		writers, last := lists("writers")
		switch {
		case !slices.Contains(writers, program) || program == "sed" && !strings.Contains(text, " -i"):
			return nil
		case slices.Contains(last, program):
			args = args[max(len(args)-1, 0):]
		}
		if slices.ContainsFunc(args, r.guarded) {
			return Of("files")
		}
	}
	return nil
}

// wf looks at a command of git wf.
func (r Rules) wf(above string, words []string) *Refusal {
	hidden := `(^|\s)(setsid|env (\S+ )*(-|-i|--ignore-environment)|((env|unset) (\S+ )*(-u ?|--unset[= ])?)(` +
		strings.Join(r.Marks, "|") + `)|(` + strings.Join(r.Marks, "|") + `)=) `
	switch {
	case slices.Contains(words, "--help") || slices.Contains(words, "-h"):
	case regexp.MustCompile(hidden).MatchString(above):
		return Of("hides")
	case r.Decides(words):
		return &Refusal{"git wf " + words[0] + Of("decides").What, Of("decides").Instead + " git wf " +
			strings.ReplaceAll(strings.Join(words, " "), "\x01", " ")}
	}
	return nil
}

func (r Rules) from(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(r.Dir, name)
}

// guarded reports whether a path is what nobody but git writes.
func (r Rules) guarded(name string) bool {
	return strings.Contains(name, ".git") && r.GitDir != nil && Guarded(r.GitDir(r.from(name)))
}

// Guarded reports whether a path below a git directory, "." for itself, is part of what git wf relies on. Messages,
// locks and excludes are not.
func Guarded(name string) bool {
	return known()["files"].of[0].MatchString(name) && !strings.HasSuffix(name, ".lock")
}
