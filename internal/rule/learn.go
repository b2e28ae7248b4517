package rule

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/templates"
)

// tables say what a project is made with, by the names of its files, and what a text is that somebody wrote down.
type tables struct {
	Seeds   []Rule
	Profile struct {
		Rule  `yaml:",inline"`
		Kinds []struct {
			Kind  string
			Names map[string]string // of tools, by patterns of a file's name
		}
	}
	Kinds []struct { // the first that a text has a word of, else the last
		Rule  `yaml:",inline"`
		Words []string
		Areas []struct { // the same of these
			Area  string
			Words []string
		}
	}
}

// own are the program's tables. They are a part of it, as patterns are.
var own = sync.OnceValue(func() (t tables) {
	const name = "rules.yaml"
	text, err := templates.FS.ReadFile(name)
	if err = cmp.Or(err, document.ReadSettings(name, text, &t)); err != nil {
		panic(err)
	}
	return t
})

// Seeds are the rules that a project can begin with.
func Seeds() []Rule { return own().Seeds }

// Learned is the rule that a text comes to which was written down while somebody worked. from says where.
func Learned(title, text string, from ...string) (r Rule) {
	all := " " + strings.Join(split(text), " ") + " "
	says := func(words []string) bool {
		has := func(word string) bool { return strings.Contains(all, " "+word+" ") }
		return len(words) == 0 || slices.ContainsFunc(words, has)
	}
	for _, k := range own().Kinds {
		if r = k.Rule; !says(k.Words) {
			continue
		}
		for _, a := range k.Areas {
			if r.Keywords = []string{a.Area}; says(a.Words) {
				break
			}
		}
		break
	}
	const most = 8
	for _, word := range telling(text) {
		if len(r.Keywords) < most && len(word) > 3 && len(word) < 60 && !slices.Contains(r.Keywords, word) {
			r.Keywords = append(r.Keywords, word)
		}
	}
	r.Title, r.Text, r.From = tidy(title), strings.TrimSpace(plain.Text(text)), from
	return r
}

// Consolidate makes one rule of several that were learned, with where each comes from.
func Consolidate(title string, rules []Rule) Rule {
	text, from := "", []string{}
	for _, r := range rules {
		text += "- " + strings.ReplaceAll(r.Text, "\n", "\n  ") + "\n"
		from = append(from, r.From...)
	}
	slices.Sort(from)
	return Learned(title, text, slices.Compact(from)...)
}

// Profile is a rule that says what a project is made with, by the paths of its files.
func Profile(paths []string) Rule {
	r := own().Profile.Rule
	for _, kind := range own().Profile.Kinds {
		files := map[string]int{}
		for _, p := range paths {
			for pattern, tool := range kind.Names {
				if ok, _ := path.Match(pattern, path.Base(p)); ok { // a pattern that is none matches nothing
					files[tool]++
				}
			}
		}
		tools := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
			return cmp.Or(files[b]-files[a], strings.Compare(a, b))
		})
		if len(tools) > 0 {
			const most = 8
			tools = plain.Some(tools, most, strings.TrimSpace)
			r.Text += "\n- " + kind.Kind + ": " + strings.Join(tools, ", ")
		}
	}
	return r
}
