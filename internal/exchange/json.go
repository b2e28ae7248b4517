package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// object is a JSON object with the line on which it begins. Values are string, bool, int64, float64, nil, []any and *object.
type object struct {
	line   int
	fields map[string]any
}

func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.fields[key]
}

func (o *object) has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.fields[key]
	return ok
}

func (o *object) str(key string) string { return textOf(o.get(key)) }

func (o *object) object(key string) *object {
	child, _ := o.get(key).(*object)
	return child
}

func (o *object) list(key string) []any {
	list, _ := o.get(key).([]any)
	return list
}

// textOf is a scalar as text: people write ids as numbers or as strings.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// texts are the scalars of a list; a single one is a list of itself, lines of it items of the list.
func texts(v any) []string {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, item := range v {
			if s := strings.TrimSpace(textOf(item)); s != "" {
				out = append(out, s)
			}
		}
		return out
	case string:
		var out []string
		for line := range strings.Lines(v) {
			line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*•"))
			line = strings.TrimSpace(boxMark.Get().ReplaceAllString(line, ""))
			if line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	if s := textOf(v); s != "" {
		return []string{s}
	}
	return nil
}

// plain is a value without lines, as plan.json holds it.
func plain(v any) any {
	switch v := v.(type) {
	case *object:
		return v.plain()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	}
	return v
}

func (o *object) plain() map[string]any {
	m := make(map[string]any, len(o.fields))
	for k, v := range o.fields {
		m[k] = plain(v)
	}
	return m
}

// without is the object as plan.json holds it, but for some keys.
func (o *object) without(keys ...string) map[string]any {
	m := o.plain()
	for _, k := range keys {
		delete(m, k)
	}
	return m
}

const (
	maxDepth = 60 // of a JSON document: plan.json takes 100 levels, and holds it some levels deep
	maxKeys  = 900
)

// jsonText reads one JSON document. Comments and commas too many are taken out, with a finding; what can't be read at all
// is a finding with its line, and ok is false.
func (r *reader) jsonText(name, text string, line int) (value any, ok bool) {
	v, at, err := r.parse(name, text, line)
	if err == nil {
		return v, true
	}
	if bare, changed := withoutComments(text); changed > 0 {
		if v, _, again := r.parse(name, bare, line); again == nil {
			r.find("json-comments", name, line+changed-1, "JSON has no comments, and no comma behind the last item; read without them", "JSON as RFC 8259 has it", "")
			return v, true
		}
	}
	r.find("syntax", name, at, "is no JSON: "+err.Error(), "JSON as RFC 8259 has it", "")
	return nil, false
}

// jsonFile reads a file that is one JSON object.
func (r *reader) jsonFile(name string) (*object, bool) {
	text, ok := r.read(name)
	if !ok {
		return nil, false
	}
	v, ok := r.jsonText(name, text, 1)
	if !ok {
		return nil, false
	}
	o, ok := v.(*object)
	if !ok {
		r.find("wrong-type", name, 1, "is no JSON object", "{...}", "")
	}
	return o, ok
}

// parse decodes text whose first line has the given number. The line of the error is where reading stopped.
func (r *reader) parse(name, text string, line int) (any, int, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	p := &jsonParser{reader: r, name: name, text: text, dec: dec, line: line}
	before := len(r.findings)
	v, err := p.value(0)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("text behind the end of the document")
		}
	}
	if err != nil {
		r.findings = r.findings[:min(before, len(r.findings))] // of a document that counts for nothing
		return nil, p.at(), jsonError(err)
	}
	return v, 0, nil
}

func jsonError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the document ends too early")
	}
	return err
}

type jsonParser struct {
	*reader
	name    string
	text    string
	dec     *json.Decoder
	line    int
	counted int // bytes up to which lines have been counted
}

// at is the line of the value that was read last.
func (p *jsonParser) at() int {
	offset := min(int(p.dec.InputOffset()), len(p.text))
	if offset > p.counted {
		p.line += strings.Count(p.text[p.counted:offset], "\n")
		p.counted = offset
	}
	return p.line
}

func (p *jsonParser) value(depth int) (any, error) {
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if depth > 1000 { // the stack has an end
			return nil, errors.New("nested more than 1000 levels deep")
		}
		if t == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case json.Number:
		return p.number(t)
	case string:
		if strings.IndexByte(t, 0) >= 0 {
			p.find("nul", p.name, p.at(), "has the character NUL in a text; replaced", "text", "")
			t = strings.ReplaceAll(t, "\x00", "\ufffd")
		}
		return t, nil
	}
	return token, nil // bool or nil
}

// number gives a number the one value that survives being written and read.
func (p *jsonParser) number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		p.find("bad-number", p.name, p.at(), "has a number out of range; kept as text", "a number that fits 64 bits", string(n))
		return string(n), nil
	}
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f), nil
	}
	return f, nil
}

func (p *jsonParser) array(depth int) (any, error) {
	list := []any{}
	for p.dec.More() {
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.dec.Token()
	if depth > maxDepth {
		return p.tooDeep(depth), err
	}
	return list, err
}

func (p *jsonParser) tooDeep(depth int) any {
	if depth == maxDepth+1 {
		p.find("too-deep", p.name, p.at(), fmt.Sprintf("is nested more than %d levels deep; what is below is left out", maxDepth), "", "")
	}
	return nil
}

func (p *jsonParser) object(depth int) (any, error) {
	o := &object{line: p.at(), fields: map[string]any{}}
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		line := p.at()
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		switch _, twice := o.fields[key]; {
		case twice:
			p.find("duplicate-key", p.name, line, "has a field twice in one object; the first counts", "each field once", key)
		case strings.IndexByte(key, 0) >= 0:
			p.find("nul", p.name, line, "has the character NUL in a field's name; left out", "text", key)
		case len(o.fields) >= maxKeys:
			p.find("too-many", p.name, line, fmt.Sprintf("has more than %d fields in one object; left out", maxKeys), "", key)
		default:
			o.fields[key] = v
		}
	}
	_, err := p.dec.Token()
	if depth > maxDepth {
		return p.tooDeep(depth), err
	}
	return o, err
}

// withoutComments takes // and /* */ comments, and commas before a closing bracket, out of JSON. Lines stay where they
// are; changed is the line of the first thing that was taken out, zero if there was none.
func withoutComments(text string) (bare string, changed int) {
	out := []byte(text)
	line, comma := 1, -1
	blank := func(from, to int) {
		if changed == 0 {
			changed = line
		}
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '\n':
			line++
		case c == ' ' || c == '\t' || c == '\r':
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := len(out)
			stop, skip := "\n", 0
			if out[i+1] == '*' {
				stop, skip = "*/", 2
			}
			if at := strings.Index(text[i+2:], stop); at >= 0 {
				end = i + 2 + at + skip
			}
			blank(i, end)
			line += strings.Count(text[i:end], "\n")
			i = end - 1
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			blank(comma, comma+1)
			comma = -1
		default:
			comma = -1
		}
	}
	return string(out), changed
}
