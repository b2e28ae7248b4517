package plandoc

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// structs has, of every struct that plan.json is made of, the index of each field by its JSON name. It is computed once
// and never changed.
var structs = sync.OnceValue(func() map[reflect.Type]map[string]int {
	infos := map[reflect.Type]map[string]int{}
	describe(reflect.TypeFor[plan.Plan](), infos)
	return infos
})

func describe(t reflect.Type, infos map[reflect.Type]map[string]int) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		describe(t.Elem(), infos)
		return
	case reflect.Struct:
	default:
		return
	}
	if infos[t] != nil {
		return
	}
	infos[t] = map[string]int{}
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			infos[t][name] = i
			describe(field.Type, infos)
		}
	}
}

// filler stores nodes in structs, by the json tags. Field names match exactly. Its functions report whether everything
// fits; the schema says what does not.
type filler struct {
	infos map[reflect.Type]map[string]int
}

func newFiller() filler { return filler{structs()} }

// object fills the struct that v is, but for the keys to skip.
func (f filler) object(n *document.Node, v reflect.Value, skip ...string) bool {
	if n.Kind != document.Object {
		return false
	}
	info := f.infos[v.Type()]
	for i := range n.Kids {
		kid := &n.Kids[i]
		if slices.Contains(skip, kid.Key) {
			continue
		}
		index, ok := info[kid.Key]
		if !ok || !f.fill(kid, v.Field(index)) {
			return false
		}
	}
	return true
}

func unknownField(key string, known []string) string {
	text := "unknown field " + plain.Quote(key)
	if strings.Contains(key, " ") {
		return text + "; in YAML, text with a comma or a colon needs quotes"
	}
	if guess := Nearest(key, known); guess != "" {
		text += "; did you mean " + guess + "?"
	}
	return text
}

// kindsOf is the kind of node that a field of each kind is made of.
var kindsOf = map[reflect.Kind]document.Kind{
	reflect.String: document.String, reflect.Bool: document.Bool, reflect.Int: document.Number,
	reflect.Int64: document.Number, reflect.Float64: document.Number, reflect.Slice: document.Array,
	reflect.Map: document.Object, reflect.Struct: document.Object,
}

func (f filler) fill(n *document.Node, v reflect.Value) bool {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return f.fill(n, v.Elem())
	}
	if want, ok := kindsOf[v.Kind()]; !ok || n.Kind != want {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Text)
	case reflect.Bool:
		v.SetBool(n.Text == "true")
	case reflect.Slice:
		return f.slice(n, v)
	case reflect.Map:
		return f.mapping(n, v)
	case reflect.Struct:
		return f.object(n, v)
	default:
		return fillNumber(document.Exact(n.Text), v)
	}
	return true
}

// mapping leaves an empty map nil. One of any values holds them as they are.
func (f filler) mapping(n *document.Node, v reflect.Value) bool {
	if len(n.Kids) == 0 {
		return true
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(n.Value(document.Exact)))
		return true
	}
	all := reflect.MakeMap(v.Type())
	for i := range n.Kids {
		item := reflect.New(v.Type().Elem()).Elem()
		if !f.fill(&n.Kids[i], item) {
			return false
		}
		all.SetMapIndex(reflect.ValueOf(n.Kids[i].Key), item)
	}
	v.Set(all)
	return true
}

func fillNumber(value any, v reflect.Value) bool {
	whole, isWhole := value.(int64)
	switch {
	case v.Kind() == reflect.Float64 && isWhole:
		v.SetFloat(float64(whole))
	case v.Kind() == reflect.Float64:
		v.SetFloat(value.(float64))
	case isWhole && !v.OverflowInt(whole):
		v.SetInt(whole)
	default:
		return false
	}
	return true
}

// slice leaves an empty list nil, so that it equals one that is absent.
func (f filler) slice(n *document.Node, v reflect.Value) bool {
	if len(n.Kids) == 0 {
		return true
	}
	list := reflect.MakeSlice(v.Type(), len(n.Kids), len(n.Kids))
	for i := range n.Kids {
		if !f.fill(&n.Kids[i], list.Index(i)) {
			return false
		}
	}
	v.Set(list)
	return true
}

// Nearest returns the candidate that a misspelt word most likely means, "" if none is near. Case does not matter.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, bestDistance := "", max(2, len(word)/3)+1
	if len(word) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := editDistance(word, strings.ToLower(c)); d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes: the known words are ASCII.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
