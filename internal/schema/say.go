package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/plain"
)

// Place is where the value is, as a JSON pointer; "/" for the whole.
func (p Problem) Place() string {
	var b strings.Builder
	for _, part := range p.At {
		b.WriteString("/" + pointerEscapes.Replace(part))
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// Expected says what would have fitted, in a few words.
func (p Problem) Expected() string {
	s := p.Schema
	least := func(n *int, things string) string { return "at least " + strconv.Itoa(*n) + " " + things }
	most := func(n *int, things string) string { return "at most " + strconv.Itoa(*n) + " " + things }
	switch p.Keyword {
	case Type:
		return strings.Join(s.Type, " or ")
	case Const:
		return short(s.Const)
	case Enum:
		var all []string
		for _, v := range s.Enum[:min(len(s.Enum), 10)] {
			all = append(all, short(v))
		}
		return "one of " + strings.Join(all, ", ")
	case Required, Dependent:
		return "the fields " + quoted(p.Names)
	case Additional:
		return "no other fields"
	case MinItems:
		return least(s.MinItems, "items")
	case MaxItems:
		return most(s.MaxItems, "items")
	case MinLength:
		return least(s.MinLength, "characters")
	case MaxLength:
		return most(s.MaxLength, "characters")
	case MinProperties:
		return least(s.MinProperties, "fields")
	case MaxProperties:
		return most(s.MaxProperties, "fields")
	case Pattern:
		return "a text that matches " + short(s.Pattern)
	case Minimum:
		return "at least " + s.Minimum.String()
	case Maximum:
		return "at most " + s.Maximum.String()
	case Above:
		return "more than " + s.Above.String()
	case Below:
		return "less than " + s.Below.String()
	case MultipleOf:
		return "a multiple of " + s.MultipleOf.String()
	case AnyOf:
		return "what one of " + strconv.Itoa(len(s.AnyOf)) + " schemas (anyOf) says"
	case OneOf:
		return "what exactly one of " + strconv.Itoa(len(s.OneOf)) + " schemas (oneOf) says"
	case Not:
		return "something else (not)"
	case Unique:
		return "items that differ"
	case Contains:
		text := "items that contains describes"
		if s.MinContains != nil {
			text = "at least " + strconv.Itoa(*s.MinContains) + " " + text
		}
		if s.MaxContains != nil {
			text += ", at most " + strconv.Itoa(*s.MaxContains)
		}
		return text
	}
	return string(p.Keyword)
}

// Found says what is there, in a few words.
func (p Problem) Found() string {
	switch p.Keyword {
	case Required, Dependent:
		return "none of that name"
	case Additional:
		return quoted(p.Names)
	case MinItems, MaxItems, MinLength, MaxLength, MinProperties, MaxProperties, Contains:
		return strconv.Itoa(p.Len)
	case OneOf:
		if p.Len > 1 {
			return "what more than one says"
		}
	}
	return short(p.Got)
}

// short is a value in at most some dozen letters.
func short(v any) string {
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object of %d fields", len(v))
	case string:
		const most = 60
		if r := []rune(v[:min(len(v), 4*most)]); len(r) > most {
			return strconv.Quote(string(r[:most]) + "...")
		}
		return strconv.Quote(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func quoted(names []string) string {
	return strings.Join(plain.Some(names, 10, func(name string) string { return short(name) }), ", ")
}
