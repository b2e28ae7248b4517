package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
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

// Message says what is wrong, in words that follow a field's name.
func (p Problem) Message() string {
	if p.Keyword == Pattern && p.Schema.Pattern == nonBlank {
		return "is empty"
	}
	return cmp.Or(messages[p.Keyword], "has a value that is not allowed")
}

var messages = map[Keyword]string{
	Type: "is of the wrong type", Required: "is missing", Dependent: "is missing",
	MinItems: "has too few items", MaxItems: "has too many items", MinLength: "is empty", MaxLength: "is too long",
	Minimum: "is too small", Above: "is too small", Maximum: "is too large", Below: "is too large",
	Pattern: "does not have the right form",
}

// nonBlank is the pattern of a text that says something.
const nonBlank = `\S`

// Expected says what would have fitted, in a few words.
func (p Problem) Expected() string {
	s := p.Schema
	switch p.Keyword {
	case Type:
		return strings.Join(s.Type, " or ")
	case Const:
		return Short(s.Const)
	case Enum:
		values := slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return v == nil })
		return "one of " + strings.Join(plain.Some(values, 20, func(v any) string {
			return strings.Trim(Short(v), `"`)
		}), ", ")
	case Required, Dependent:
		return "the fields " + quoted(p.Names)
	case Additional:
		return "no other fields"
	case MinItems:
		return "at least " + plain.Count(*s.MinItems, "item")
	case MaxItems:
		return "at most " + plain.Count(*s.MaxItems, "item")
	case MinLength:
		return "at least " + plain.Count(*s.MinLength, "character")
	case MaxLength:
		return "at most " + plain.Count(*s.MaxLength, "character")
	case MinProperties:
		return "at least " + plain.Count(*s.MinProperties, "field")
	case MaxProperties:
		return "at most " + plain.Count(*s.MaxProperties, "field")
	case Pattern:
		switch {
		case s.Title != "":
			return s.Title
		case s.Pattern == nonBlank:
			return "a text"
		}
		return "a text that matches " + s.Pattern
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
	case Type:
		return TypeOf(p.Got)
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
	return Short(p.Got)
}

// Short shows a value in at most some dozen letters.
func Short(v any) string {
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object of %d fields", len(v))
	case string:
		return plain.Quote(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func quoted(names []string) string { return strings.Join(plain.Some(names, 10, plain.Quote), ", ") }
