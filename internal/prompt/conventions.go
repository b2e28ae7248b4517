package prompt

import (
	"io/fs"
	"path"
	"strings"

	"gitwf/internal/pattern"
)

// The limits of conventions. What is beyond them is left out.
const (
	mostConventions = 32       // files, of which each may import others
	mostConvention  = 64 << 10 // bytes of one
	deepestImport   = 5        // of an import in an imported file
)

var imported = pattern.Compile(`(^|[\s(])@(\w[\w./-]*\w|\.\.?/[\w./-]*\w)`)

// ConventionFiles are the names of the files in which a repository tells agents something.
func ConventionFiles() []string { return []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} }

// ConventionsOf are what a repository tells agents: the files that they look for in these directories, and what these
// import with @PATH. A text that is there already, as where one file is a link to the other, is not told twice. read
// returns a link's target as git does. Nothing outside of the repository is looked at.
// What the file called known says, the agent knows.
func ConventionsOf(read func(name string) (text string, there bool), dirs []string, known string) []File {
	r := conventions{read: read, found: map[string]bool{}, texts: map[string]bool{}}
	for _, dir := range dirs {
		if told := len(r.all); known != "" {
			r.add(path.Join(dir, known), 0)
			r.all = r.all[:told]
		}
		for _, name := range ConventionFiles() {
			r.add(path.Join(dir, name), 0)
		}
	}
	return r.all
}

type conventions struct {
	read         func(name string) (text string, there bool)
	all          []File
	found, texts map[string]bool // whether there is such a file, of each path that was looked at; what is told
}

// add adds a file, unless it is there, and reports whether there is such a file.
func (r *conventions) add(name string, depth int) bool {
	if found, known := r.found[name]; known {
		return found
	}
	if depth > deepestImport || !fs.ValidPath(name) || len(r.all) == mostConventions {
		return false
	}
	text, there := r.read(name)
	r.found[name] = there && len(text) <= mostConvention && !strings.Contains(text, "\x00")
	if !r.found[name] {
		return false
	}
	if !strings.ContainsAny(text, " \n") && r.add(path.Join(path.Dir(name), text), depth+1) || r.texts[text] {
		return true
	}
	r.texts[text] = true
	at := len(r.all)
	r.all = append(r.all, File{Path: name})
	text, own := r.follow(text, path.Dir(name), depth)
	if r.all[at].Text = Text(text); !own {
		r.all = append(r.all[:at], r.all[at+1:]...)
	}
	return true
}

// follow adds what a text imports, and writes the paths instead: a program would follow an import itself. own reports
// whether the text says anything else. What stands in code is no import.
func (r *conventions) follow(text, dir string, depth int) (told string, own bool) {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		start := strings.TrimSpace(line)
		fence := strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~")
		code = code != fence
		rest, parts := line, strings.Split(line, "`")
		for i := 0; i < len(parts) && !code && !fence; i += 2 {
			for _, m := range imported.Get().FindAllStringSubmatch(parts[i], -1) {
				if name := path.Join(dir, m[2]); r.add(name, depth+1) {
					parts[i] = strings.Replace(parts[i], "@"+m[2], "`"+name+"`", 1)
					rest = strings.Replace(rest, "@"+m[2], "", 1)
				}
			}
		}
		b.WriteString(strings.Join(parts, "`"))
		own = own || strings.TrimSpace(rest) != ""
	}
	return b.String(), own
}
