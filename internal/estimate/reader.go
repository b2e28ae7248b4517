package estimate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/document"
)

// reader walks a document by its keys and keeps the first error.
type reader struct {
	file string
	err  error
}

func (r *reader) fail(n *document.Node, key, format string, args ...any) {
	if r.err == nil {
		r.err = &WeightsError{File: r.file, Line: int(n.Line), Key: key, Problem: fmt.Sprintf(format, args...)}
	}
}

// found describes a value for an error.
func found(n *document.Node) string {
	switch n.Kind {
	case document.Array:
		return "a list"
	case document.Object:
		return "an object"
	}
	const most = 40
	if r := []rune(n.Text); len(r) > most {
		return fmt.Sprintf("%q...", string(r[:most]))
	}
	return fmt.Sprintf("%q", n.Text)
}

// object reads the fields of an object. The function of each field gets the value and its key from the top.
func (r *reader) object(n *document.Node, key string, fields map[string]func(*document.Node, string)) {
	names := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	if n.Kind != document.Object {
		r.fail(n, key, "expected an object with %s, found %s", names, found(n))
		return
	}
	for i := range n.Kids {
		kid := &n.Kids[i]
		full := strings.TrimPrefix(key+"."+kid.Key, ".")
		if field := fields[kid.Key]; field != nil {
			field(kid, full)
		} else {
			r.fail(kid, full, "there is no such weight; here may stand %s", names)
		}
	}
}

func (r *reader) weight(to *float64) func(*document.Node, string) {
	return func(n *document.Node, key string) {
		v, err := strconv.ParseFloat(n.Text, 64)
		if n.Kind != document.Number || err != nil {
			r.fail(n, key, "expected a number such as 0.5, found %s", found(n))
			return
		}
		if problem := usable(v); problem != "" {
			r.fail(n, key, "%s, found %s", problem, found(n))
			return
		}
		*to = v
	}
}

func (r *reader) weights(to map[string]*float64) func(*document.Node, string) {
	fields := map[string]func(*document.Node, string){}
	for name, v := range to {
		fields[name] = r.weight(v)
	}
	return func(n *document.Node, key string) { r.object(n, key, fields) }
}

func (r *reader) verbs(n *document.Node, key string) []Verbs {
	if n.Kind != document.Array || len(n.Kids) > maxVerbs {
		r.fail(n, key, "expected a list of at most %d groups with name, factor and words, found %s", maxVerbs, found(n))
		return nil
	}
	var all []Verbs
	for i := range n.Kids {
		v, at := Verbs{}, fmt.Sprintf("%s[%d]", key, i)
		r.object(&n.Kids[i], at, map[string]func(*document.Node, string){
			"name":   func(n *document.Node, key string) { v.Name = r.text(n, key) },
			"factor": r.weight(&v.Factor),
			"words":  func(n *document.Node, key string) { v.Words = r.words(n, key) },
		})
		if v.Name == "" || v.Factor == 0 || len(v.Words) == 0 {
			r.fail(&n.Kids[i], at, "a group needs a name, a factor above 0 and words")
		}
		all = append(all, v)
	}
	return all
}

func (r *reader) words(n *document.Node, key string) []string {
	if n.Kind != document.Array || len(n.Kids) > maxWords {
		r.fail(n, key, "expected a list of at most %d words, found %s", maxWords, found(n))
		return nil
	}
	var words []string
	for i := range n.Kids {
		words = append(words, strings.ToLower(r.text(&n.Kids[i], fmt.Sprintf("%s[%d]", key, i))))
	}
	return words
}

func (r *reader) text(n *document.Node, key string) string {
	text := strings.TrimSpace(n.Text)
	if n.Kind != document.String || text == "" || len(text) > 100 {
		r.fail(n, key, "expected a word of at most 100 bytes, found %s", found(n))
		return ""
	}
	return text
}
