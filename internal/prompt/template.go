package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"gitwf/internal/contract"
	"gitwf/internal/fault"
	"gitwf/internal/pattern"
)

// templateFile is the path of a role's template.
func templateFile(r contract.Role) string { return "prompts/" + string(r) + ".md" }

// partsFile defines the blocks that the templates share.
const partsFile = "prompts/parts.md"

// load returns the template of a role, which layers parse once.
func load(files fs.FS, role contract.Role) (*template.Template, error) {
	if l, ok := files.(*layered); ok {
		return l.load(role)
	}
	return parseTemplate(files, role)
}

// parseTemplate reads a role's template and the shared blocks, and checks both against Data, so that it finds
// a misspelt field even if no data reaches it today. Errors begin with the file and the line.
func parseTemplate(files fs.FS, role contract.Role) (*template.Template, error) {
	set := template.New("").Funcs(functions()).Option("missingkey=error")
	var main *template.Template
	for _, name := range []string{partsFile, templateFile(role)} {
		at := place(files, name)
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, &TemplateError{at, fmt.Errorf("%s: %w", at, err).Error()}
		}
		if main, err = set.New(at).Parse(string(data)); err != nil {
			return nil, templateError(err)
		}
		if strings.TrimSpace(string(data)) == "" {
			return nil, &TemplateError{at, at + ":1: the template is empty; remove the file to get the built-in one"}
		}
	}
	if err := checkFields(main); err != nil {
		return nil, err
	}
	return main, nil
}

// TemplateError says where a template is wrong, and why.
type TemplateError struct {
	File string // with its layer, if that has a name
	text string // begins with file and line
}

func (e *TemplateError) Error() string { return e.text }

// Exit returns what to do about the file.
func (e *TemplateError) Exit() (int, string) {
	return fault.ExitUsage, "mend " + e.File +
		", or remove it to get the built-in one; docs/format/prompts.md lists what a template can use"
}

// functions are what templates can call besides text/template's own functions.
func functions() template.FuncMap {
	return template.FuncMap{
		"join":   func(list []string, between string) string { return strings.Join(list, between) },
		"quoted": func(list []string) string { return "`" + strings.Join(list, "`, `") + "`" },
	}
}

// templateError is an error of text/template with the file and the line first.
func templateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	file := text
	if at := lineOf.Get().FindStringIndex(text); at != nil {
		file = text[:at[0]]
	}
	return &TemplateError{file, text}
}

// Vet checks the templates of all roles. It fails at the first mistake, with the file and the line.
func Vet(files fs.FS) error {
	for _, r := range contract.Roles() {
		if _, err := load(files, r); err != nil {
			return err
		}
	}
	return nil
}

// A skeleton is what a template makes of masked data: literal text with a part between each two pieces.
type skeleton struct {
	pieces []string
	parts  []*part // one less than pieces; a part may come more than once
}

var (
	lineOf      = pattern.Compile(`:[0-9]+:`)
	placeholder = pattern.Compile(placeholderMark + `([0-9]+)` + placeholderMark)
	blankLines  = pattern.Compile(`\n[ \t]*\n(?:[ \t]*\n)+`)
)

// render runs the template and splits the result at the placeholders. Parts stand on lines of their own.
func render(t *template.Template, role contract.Role, d Data, s *masker) (*skeleton, error) {
	var b strings.Builder
	if err := t.Execute(&b, s.data(role, d)); err != nil {
		return nil, templateError(err)
	}
	text, k, from := strings.TrimSpace(blankLines.Get().ReplaceAllString(b.String(), "\n\n"))+"\n", &skeleton{}, 0
	for _, m := range placeholder.Get().FindAllStringSubmatchIndex(text, -1) {
		n, err := strconv.Atoi(text[m[2]:m[3]])
		if err != nil || n >= len(s.parts) {
			return nil, &TemplateError{templateFile(role),
				fmt.Sprintf("prompt for %s: the template prints a placeholder that nobody made", role)}
		}
		piece := text[from:m[0]]
		if len(k.parts) > 0 && !strings.HasPrefix(piece, "\n") {
			piece = "\n" + strings.TrimLeft(piece, " \t")
		}
		if piece != "" && !strings.HasSuffix(piece, "\n") {
			piece += "\n"
		}
		k.pieces, k.parts = append(k.pieces, piece), append(k.parts, s.parts[n])
		s.parts[n].uses++
		from = m[1]
	}
	last := text[from:]
	if len(k.parts) > 0 && !strings.HasPrefix(last, "\n") {
		last = "\n" + last
	}
	k.pieces = append(k.pieces, last)
	if i := strings.Index(strings.Join(k.pieces, ""), placeholderMark); i >= 0 {
		return nil, &TemplateError{templateFile(role),
			fmt.Sprintf("prompt for %s: the template prints a part of a text; print it whole, as {{.Text}}", role)}
	}
	return k, nil
}

// checkFields finds misspelt fields that no data reaches today: it runs a template on data that has one of everything.
func checkFields(t *template.Template) error {
	var sample Data
	fill(reflect.ValueOf(&sample).Elem())
	err := t.Execute(io.Discard, sample)
	var failed template.ExecError
	if !errors.As(err, &failed) || errors.Unwrap(failed.Err) != nil {
		return nil // the cause is a function's: real data may suit it
	}
	return templateError(err)
}

// fill sets everything to something: one element in each list, no number zero, no text empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

// Layer is a place for templates. Name is what errors call it: the directory, if a user can edit it.
type Layer struct {
	Name string
	FS   fs.FS
}

// Layers reads each file from the first layer that has it. It searches on only if a file does not exist: an unreadable
// one is an error. Build parses each of its templates once, and does not see later changes of a file.
func Layers(layers ...Layer) fs.FS {
	return &layered{layers: layers, parsed: map[contract.Role]*template.Template{}}
}

type layered struct {
	layers []Layer
	mu     sync.Mutex
	parsed map[contract.Role]*template.Template
}

// load parses the template of a role, unless that was done.
func (l *layered) load(role contract.Role) (*template.Template, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.parsed[role]; t != nil {
		return t, nil
	}
	t, err := parseTemplate(l, role)
	if err == nil {
		l.parsed[role] = t
	}
	return t, err
}

// Open opens the file in the first layer that has it.
func (l *layered) Open(name string) (fs.File, error) {
	_, f, err := l.find(name)
	return f, err
}

func (l *layered) find(name string) (Layer, fs.File, error) {
	for _, layer := range l.layers {
		f, err := layer.FS.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return layer, f, err
	}
	return Layer{}, nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// place is what errors call the file: with its layer, if there are layers.
func place(files fs.FS, name string) string {
	l, ok := files.(*layered)
	if !ok {
		return name
	}
	layer, f, _ := l.find(name)
	if f != nil {
		f.Close()
	}
	if layer.Name == "" {
		return name
	}
	return layer.Name + "/" + name
}
