package rule

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"gitwf/internal/document"
	"gitwf/internal/plain"
)

// Tables say what a project is made with, by the names of its files, and what a text is that somebody wrote down.
type Tables struct {
	Seeds     []string          // rules that a project can begin with
	Languages map[string]string // by what a file's name ends with
	Build     map[string]string // by patterns of a file's name
	Tests     map[string]string
	Kinds     []struct { // the first that a text has a word of, else the last
		Kind, ReadMode, Priority, Category string

		Words []string
		Areas []struct { // the same of these
			Area  string
			Words []string
		}
	}
}

// ReadTables reads the file that has them.
func ReadTables(name string, text []byte) (t Tables, err error) {
	return t, document.ReadSettings(name, text, &t)
}

// says reports whether a text has one of the words, or there are none.
func says(text string, words []string) bool {
	text = " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ") + " "
	return len(words) == 0 || slices.ContainsFunc(words, func(word string) bool {
		if !joined([]rune(word)[0]) {
			word = " " + word + " "
		}
		return strings.Contains(text, word)
	})
}

// Learned is the rule that a text comes to which was written down while somebody worked. from says where.
func (t Tables) Learned(title, text string, from ...string) Rule {
	r := unsaid()
	r.Title, r.Text, r.From = tidy(title), strings.TrimSpace(plain.Text(text)), from
	for _, k := range t.Kinds {
		if !says(text, k.Words) {
			continue
		}
		r.Kind, r.ReadMode, r.Priority, r.Category = k.Kind, k.ReadMode, k.Priority, k.Category
		for _, a := range k.Areas {
			if says(text, a.Words) {
				r.Keywords = []string{a.Area}
				break
			}
		}
		break
	}
	const most = 8
	for _, word := range runs(text) {
		if len(r.Keywords) < most && len(word) > 3 && len(word) < 60 && !slices.Contains(r.Keywords, word) {
			r.Keywords = append(r.Keywords, word)
		}
	}
	return r
}

// Consolidate makes one text of several that were written down, with where each comes from.
func Consolidate(rules []Rule) (one Rule) {
	for _, r := range rules {
		one.Text += "- " + strings.ReplaceAll(r.Text, "\n", "\n  ") + "\n"
		one.From = append(one.From, r.From...)
	}
	slices.Sort(one.From)
	one.From = slices.Compact(one.From)
	return one
}

// Items are the points that a retrospective makes: the texts in lists of JSON, or the items of Markdown.
func Items(name string, data []byte) (all []string) {
	if path.Ext(name) == ".json" {
		v, _ := document.Load(name, data) // of what is no JSON nothing is learned
		return texts(v)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			all = append(all, text)
		}
	}
	return all
}

func texts(v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
			all = append(all, texts(item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, texts(v[name])...)
		}
	}
	return all
}

// Profile is a rule that says what a project is made with, by the paths of its files.
func (t Tables) Profile(paths []string) Rule {
	found := [4]map[string]int{{}, {}, {}, {}}
	for _, p := range paths {
		name := path.Base(p)
		found[0][t.Languages[strings.TrimPrefix(path.Ext(name), ".")]]++
		for i, table := range []map[string]string{t.Build, t.Tests} {
			for pattern, tool := range table {
				if ok, _ := path.Match(pattern, name); ok { // a pattern that is none matches nothing
					found[1+i][tool]++
				}
			}
		}
		if top, _, below := strings.Cut(p, "/"); below {
			found[3][plain.Line(top)+"/"]++
		}
	}
	r := unsaid()
	r.Title, r.ReadMode, r.Text = "Project profile", Required, "This project is made with, by files:\n"
	for i, what := range []string{"languages", "build", "tests", "directories"} {
		delete(found[i], "")
		names := slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(found[i]))),
			func(a, b string) int { return found[i][b] - found[i][a] })
		if len(names) > 0 {
			const most = 8
			names = plain.Some(names, most, func(name string) string { return name })
			r.Text += "\n- " + what + ": " + strings.Join(names, ", ")
		}
	}
	return r
}
