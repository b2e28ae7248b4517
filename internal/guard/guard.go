package guard

import (
	_ "embed" // of the table
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/caller"
	"gitwf/internal/pattern"
)

// Rules are what a guard has to know of the place, and of the commands of git wf.
type Rules struct {
	Dir     string                     // where the line runs
	Decides func(words []string) bool  // the command of these words, after wf, is a person's decision
	Writes  func(path string) *Refusal // what is wrong with writing a file, nil if nothing is
}

// Refusal says what a call must not do, and what is right instead.
type Refusal struct{ What, Instead string }

func (r *Refusal) Error() string { return r.What + "\n" + r.Instead }

//go:embed rules.txt
var table string

// rule is a refusal of the table, and the commands that it is for: a pattern of what stands before git, git with its
// own options, the rest of the command, and the line that it is part of, with bars between them.
type rule struct {
	name string
	Refusal
	of *regexp.Regexp // nil if it is no command that tells
}

// rules reads the table: blocks of a name, what is wrong, what is right instead, and any number of patterns.
var rules = sync.OnceValue(func() (all []rule) {
	words := strings.NewReplacer("MARKS", strings.Join(caller.Marks(), "|"),
		"KEYS", `(core\.hookspath|wf\.person|wf\.approval|include(if\.[^ |]*)?\.path)\S*`)
	for block := range strings.SplitSeq(strings.TrimSuffix(table, "\n"), "\n\n") {
		lines := strings.Split(words.Replace(block), "\n")
		r := rule{name: lines[0], Refusal: Refusal{lines[1], lines[2]}}
		if len(lines) > 3 {
			r.of = regexp.MustCompile("(?:" + strings.Join(lines[3:], ")|(?:") + ")")
		}
		all = append(all, r)
	}
	return all
})

// Of is the refusal of a name in the table.
func Of(name string) *Refusal {
	return &rules()[slices.IndexFunc(rules(), func(r rule) bool { return r.name == name })].Refusal
}

// The patterns read commands as text: each word has a space behind it, and none inside.
var (
	// leading are assignments, and programs that run what follows, with their options.
	leading = pattern.Compile(`^(?:(?:\w+=\S*|(?:export|unset)(?: \S+)*|` +
		`(?:\S*/)?env(?: -(?:u|C|-unset|-chdir) \S+| -\S*)*|` +
		`(?:\S*/)?(?:command|builtin|exec|nohup|time|nice|ionice|sudo|doas|setsid|stdbuf|xargs|timeout|` +
		`if|then|elif|else|do|while|until|!|[{}])(?: -[ancpugioeIPdLsEkC] \S+| -\S*| [\d.]+[smhd]?)*) )+`)
	options = pattern.Compile(`^git( -[cC] \S+| --(git-dir|work-tree|namespace|config-env) \S+| -\S+)*`)
	// values are those of options, which may look like one.
	values = pattern.Compile(`( -[a-zA-Z]*[mFCctX]| --(?:message|file|author|date|template|reuse-message|fixup|` +
		`squash|reedit-message|cleanup|trailer|strategy|exec|onto|push-option)) \S+`)
	// nested is a line that a shell is given as a word or, by eval, as several.
	nested = pattern.Compile(`^(?:eval (.*)|` +
		`(?:sh|bash|zsh|dash|ksh|script|su) (?:\S+ )*?-[abdefhilqruvx]*c (\S+) .*)$`)
	// writers are programs that write all files that they name, or the last one.
	writers = pattern.Compile(`^(?:(?:cp|ln|install|rsync) (?:\S+ )*(\S+) |` +
		`(?:rm|mv|tee|touch|truncate|chmod|chown|unlink|sed (?:\S+ )*?(?:-i|--in-place)\S*) (.*))$`)
	relied = pattern.Compile(`^(worktrees/[^/]+/)?(\.|(hooks|refs|wf|objects|logs)(/.*)?|worktrees(/[^/]*)?|` +
		`config(\.worktree)?|packed-refs|HEAD|WORKFLOW_HEAD|wf-hooks-seen)$`)
)

// Guarded reports whether a path below a git directory, "." for itself, is part of what git wf relies on. Messages,
// locks and excludes are not.
func Guarded(name string) bool {
	return relied.Get().MatchString(name) && !strings.HasSuffix(name, ".lock")
}

// mostNested bounds how deep lines that are words of lines are read.
const mostNested = 8

// Line says what a command line must not do; nil if it may run.
func (r Rules) Line(line string) *Refusal { return r.line(line, "", 0) }

// line looks at a line. above are the words that came before it and say in which environment it runs.
func (r Rules) line(line, above string, depth int) *Refusal {
	whole := glue(strings.ReplaceAll(line, "\n", " "), "|")
	for _, words := range commandsOf(line) {
		if depth > mostNested {
			return nil
		}
		var writes []string
		text := ""
		for i, w := range words {
			switch name, isFile := strings.CutPrefix(w, ">"); {
			case isFile && strings.Trim(name, "0123456789") != "": // no 2>&1
				writes = append(writes, name)
			case !isFile && i > 0 && words[i-1] == "-S": // of env: a line in one word
				text += strings.ReplaceAll(w, string(glued+' '), " ") + " "
			case !isFile:
				text += w + " "
			}
		}
		first := leading.Get().FindString(text)
		if refused := r.command(above+first, text[len(first):], writes, whole, depth); refused != nil {
			return refused
		}
		if text == first {
			above += first // it holds for what follows
		} else if len(words) > 1 && words[0] == "cd" {
			r.Dir = r.from(unglue(words[1]))
		}
	}
	return nil
}

// command looks at a command, at what stands before it, and at the files that its output goes to.
func (r Rules) command(above, text string, writes []string, whole string, depth int) *Refusal {
	program, args, _ := strings.Cut(text, " ")
	if program = path.Base(program); program == "git-wf" {
		program = "git wf"
	}
	text = program + " " + args
	head := options.Get().FindString(text)
	rest, _, _ := strings.Cut(text[len(head):], " -- ")
	if head != "" || strings.Contains(above, "GIT_") { // else no rule is compiled
		told := above + "|" + head + " |" + values.Get().ReplaceAllString(rest, "$1") + " |" + whole
		for _, known := range rules() {
			if known.of != nil && known.of.MatchString(told) {
				return Of(known.name)
			}
		}
	}
	if words := strings.Fields(rest); head != "" && len(words) > 1 && words[0] == "wf" &&
		!slices.Contains(words, "--help") && !slices.Contains(words, "-h") && r.Decides(words[1:]) {
		said := unglue(strings.Join(words[1:], " "))
		return &Refusal{"git wf " + words[1] + Of("decides").What, Of("decides").Instead + " git wf " + said}
	}
	if m := nested.Get().FindStringSubmatch(text); m != nil {
		return r.line(unglue(m[1]+m[2]), above, depth+1)
	}
	if m := writers.Get().FindStringSubmatch(text); m != nil {
		writes = append(strings.Fields(m[1]+m[2]), writes...)
	}
	for _, name := range writes {
		if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "~") || strings.Contains(name, "$") {
			continue // an option, or not known
		}
		if refused := r.Writes(r.from(unglue(name))); refused != nil {
			return refused
		}
	}
	return nil
}

func (r Rules) from(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(r.Dir, name)
}
