package estimate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// reader walks a YAML document by its keys and keeps the first thing that is wrong.
type reader struct {
	file string
	err  error
}

func (r *reader) fail(y *yaml.Node, key, format string, args ...any) {
	if r.err == nil {
		r.err = &WeightsError{File: r.file, Line: y.Line, Key: key, Problem: fmt.Sprintf(format, args...)}
	}
}

// resolve follows an alias.
func resolve(y *yaml.Node) *yaml.Node {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return y
}

// found names a value in an error.
func found(y *yaml.Node) string {
	switch y.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "an object"
	}
	const most = 40
	if r := []rune(y.Value); len(r) > most {
		return fmt.Sprintf("%q...", string(r[:most]))
	}
	return fmt.Sprintf("%q", y.Value)
}

// object reads the fields of an object, each by its function, which gets the value and its key from the top.
func (r *reader) object(y *yaml.Node, key string, fields map[string]func(*yaml.Node, string)) {
	y = resolve(y)
	names := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	if y.Kind != yaml.MappingNode {
		r.fail(y, key, "expected an object with %s, found %s", names, found(y))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		name := y.Content[i].Value
		full := strings.TrimPrefix(key+"."+name, ".")
		field := fields[name]
		switch {
		case field == nil:
			r.fail(y.Content[i], full, "there is no such weight; here may stand %s", names)
		case seen[name]:
			r.fail(y.Content[i], full, "stands twice")
		default:
			field(resolve(y.Content[i+1]), full)
		}
		seen[name] = true
	}
}

func (r *reader) weight(to *float64) func(*yaml.Node, string) {
	return func(y *yaml.Node, key string) {
		var v float64
		if y.Kind != yaml.ScalarNode || y.ShortTag() != "!!int" && y.ShortTag() != "!!float" || y.Decode(&v) != nil {
			r.fail(y, key, "expected a number such as 0.5, found %s", found(y))
			return
		}
		if problem := usable(v); problem != "" {
			r.fail(y, key, "%s, found %s", problem, found(y))
			return
		}
		*to = v
	}
}

func (r *reader) weights(to map[string]*float64) func(*yaml.Node, string) {
	fields := map[string]func(*yaml.Node, string){}
	for name, v := range to {
		fields[name] = r.weight(v)
	}
	return func(y *yaml.Node, key string) { r.object(y, key, fields) }
}

func (r *reader) verbs(y *yaml.Node, key string) []Verbs {
	if y.Kind != yaml.SequenceNode || len(y.Content) > maxVerbs {
		r.fail(y, key, "expected a list of at most %d groups with name, factor and words, found %s", maxVerbs, found(y))
		return nil
	}
	var all []Verbs
	for i, item := range y.Content {
		v, at := Verbs{}, fmt.Sprintf("%s[%d]", key, i)
		r.object(item, at, map[string]func(*yaml.Node, string){
			"name":   func(y *yaml.Node, key string) { v.Name = r.text(y, key) },
			"factor": r.weight(&v.Factor),
			"words":  func(y *yaml.Node, key string) { v.Words = r.words(y, key) },
		})
		if v.Name == "" || v.Factor == 0 || len(v.Words) == 0 {
			r.fail(resolve(item), at, "a group needs a name, a factor above 0 and words")
		}
		all = append(all, v)
	}
	return all
}

func (r *reader) words(y *yaml.Node, key string) []string {
	if y.Kind != yaml.SequenceNode || len(y.Content) > maxWords {
		r.fail(y, key, "expected a list of at most %d words, found %s", maxWords, found(y))
		return nil
	}
	var words []string
	for i, item := range y.Content {
		words = append(words, strings.ToLower(r.text(resolve(item), fmt.Sprintf("%s[%d]", key, i))))
	}
	return words
}

func (r *reader) text(y *yaml.Node, key string) string {
	text := strings.TrimSpace(y.Value)
	if y.Kind != yaml.ScalarNode || y.ShortTag() != "!!str" || text == "" || len(text) > 100 {
		r.fail(y, key, "expected a word of at most 100 bytes, found %s", found(y))
		return ""
	}
	return text
}
