package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "gitwf"

// testsAlone is the package that prepares the surroundings of tests. No row has it among what code may import.
const testsAlone = "internal/repotest"

// allowed says for each package which of ours its code may import. Arrows point down: the order of the rows is the
// order of the layers, and no row names one above it. Tests may import more.
var allowed = []struct {
	pkg  string
	uses []string
}{
	{"cmd/git-wf", []string{"hooks", "internal/act", "internal/agent", "internal/audit", "internal/caller",
		"internal/check", "internal/completion",
		"internal/contract", "internal/engine", "internal/estimate", "internal/exchange", "internal/expand",
		"internal/export",
		"internal/gate", "internal/gitstore", "internal/graph", "internal/guard", "internal/mcp", "internal/plan",
		"internal/plandoc", "internal/policy", "internal/process", "internal/progress", "internal/prompt",
		"internal/readmodel", "internal/rule", "internal/secret", "internal/setup", "internal/terminal", "internal/trace",
		"internal/vendor", "internal/views", "internal/web", "internal/workflow", "templates"}},
	{"bench", []string{"internal/chaostest", "internal/gitstore", "internal/plan", "internal/plandoc",
		"internal/workspace"}},
	{"bench/chaos", []string{"internal/attacktest", "internal/chaostest"}},
	{"bench/plans", []string{"internal/exchange", "internal/plan", "internal/plandoc", "internal/policy"}},
	{"bench/replay", []string{"internal/chaostest", "internal/gitstore", "internal/plan", "internal/plandoc"}},
	{"bench/workers", []string{"internal/chaostest", "internal/plan"}},
	{"internal/arch", nil},
	// pushes that no git command makes
	{"internal/attacktest", []string{"internal/chaostest", "internal/gate", "internal/gitstore", "internal/plan"}},
	{"internal/chaostest", nil}, // faults that tests and bench/chaos put a whole program under
	{"internal/completion", nil},
	{"internal/mcp", []string{"internal/schema"}},
	{"internal/web", []string{"internal/engine", "internal/estimate", "internal/export", "internal/gitstore",
		"internal/graph", "internal/plan", "internal/policy", "internal/readmodel"}},
	{"internal/progress", []string{"internal/engine", "internal/gitstore", "internal/plan", "internal/terminal"}},
	{"internal/readmodel", []string{"internal/engine", "internal/estimate", "internal/expand", "internal/export",
		"internal/gitstore", "internal/plan"}},
	{"internal/views", []string{"internal/act", "internal/audit", "internal/engine",
		"internal/exchange",
		"internal/export", "internal/gitstore", "internal/plan", "internal/plandoc"}},
	{"internal/engine", []string{"internal/act", "internal/agent", "internal/caller", "internal/check",
		"internal/contract", "internal/document",
		"internal/estimate",
		"internal/expand", "internal/export", "internal/forge", "internal/gitstore", "internal/plan", "internal/plandoc",
		"internal/policy", "internal/prepare", "internal/process", "internal/prompt", "internal/rule", "internal/secret", "internal/threeway",
		"internal/workspace", "templates"}},
	{"internal/vendor", []string{"internal/document", "templates"}},
	{"internal/setup", []string{"hooks", "internal/audit", "internal/gitstore", "internal/plan"}},
	{"internal/gate", []string{"hooks", "internal/audit", "internal/export", "internal/gitstore", "internal/glob",
		"internal/plan", "internal/policy", "internal/threeway"}},
	{"internal/audit", []string{"internal/act", "internal/expand", "internal/export", "internal/gitstore",
		"internal/plan", "internal/plandoc", "internal/policy", "internal/secret"}},
	{"internal/expand", []string{"internal/export", "internal/gitstore", "internal/glob", "internal/plan",
		"internal/plandoc", "internal/workflow"}},
	{"internal/export", []string{"internal/act", "internal/gitstore", "internal/plan", "internal/plandoc",
		"internal/policy"}},
	{testsAlone, []string{"internal/gitstore", "internal/plan", "internal/plandoc", "internal/policy"}},
	{testsAlone + "/tool", nil},
	{"internal/wiretest", nil}, // the services that agents are tested against
	{"internal/agent", []string{"internal/backend", "internal/contract", "internal/document", "internal/glob",
		"internal/workflow", "internal/plan", "internal/process"}},
	{"internal/backend", []string{"internal/plan", "internal/process", "internal/secret"}},
	{"internal/forge", []string{"internal/process"}},
	{"internal/prepare", []string{"internal/glob", "internal/plan", "internal/plandoc", "internal/process"}},
	{"internal/workspace", []string{"internal/gitstore", "internal/plan"}},
	{"internal/check", []string{"internal/document", "internal/plan", "internal/plandoc", "internal/process",
		"internal/schema"}},
	{"internal/gitstore", []string{"internal/document", "internal/plan", "internal/plandoc", "internal/policy",
		"internal/threeway"}},
	{"internal/threeway", []string{"internal/plan"}},
	{"internal/prompt", []string{"internal/contract", "internal/plan", "internal/policy"}},
	{"internal/contract", []string{"internal/document", "internal/plan", "internal/schema"}},
	{"internal/exchange", []string{"internal/document", "internal/outline", "internal/plan", "internal/plandoc"}},
	{"internal/estimate", []string{"internal/document", "internal/plan", "internal/terminal"}},
	{"internal/graph", []string{"internal/plan", "internal/terminal"}},
	{"internal/workflow", []string{"internal/document", "internal/plan", "internal/plandoc", "internal/policy",
		"internal/schema"}},
	{"internal/act", []string{"internal/document", "internal/plan", "internal/schema"}},
	{"internal/rule", []string{"internal/document", "internal/plan", "internal/plandoc", "internal/schema", "templates"}},
	{"internal/plandoc", []string{"internal/document", "internal/glob", "internal/outline", "internal/plan",
		"internal/policy", "internal/schema"}},
	{"internal/trace", []string{"internal/outline"}},
	{"internal/outline", nil},
	{"internal/secret", []string{"internal/plan"}},
	{"internal/policy", []string{"internal/glob", "internal/plan"}},
	{"internal/plan", []string{"internal/casefold"}},
	{"internal/document", nil},
	{"internal/schema", nil},
	{"internal/glob", nil},
	{"internal/terminal", nil},
	{"internal/process", nil},
	{"internal/guard", []string{"internal/caller", "internal/pattern"}},
	{"internal/caller", nil},
	{"hooks", []string{"internal/casefold"}},
	{"templates", nil},
	{"internal/fault", nil},
	{"internal/shell", nil},
	{"internal/pattern", nil},
	{"internal/relpath", []string{"internal/casefold"}},
	{"internal/plain", nil},
	{"internal/casefold", nil},
	{"internal/each", nil},
	{"internal/md2man/md2man", nil}, // a module that stands in for another; see its comment
}

// everywhere lists the packages that every other one may import, those that they stand on apart.
var everywhere = []string{"internal/relpath", "internal/plain", "internal/fault", "internal/shell", "internal/pattern",
	"internal/each"}

// only lists the packages outside of the module that are for some packages alone; a prefix that ends in a slash stands
// for all below it.
var only = []struct {
	imported string
	by       []string
	why      string
}{
	{"github.com/go-git/", []string{"internal/gitstore"}, "gitstore alone knows how objects are stored"},
	{"github.com/gofrs/flock", []string{"internal/chaostest", "internal/gitstore"},
		"gitstore alone locks plans; chaostest waits for what a killed one left at work"},
	{"github.com/urfave/cli/", []string{"cmd/git-wf", "internal/completion"}, "the command line is cmd's"},
	{"gopkg.in/yaml.v3", []string{"internal/agent", "internal/document", "internal/plandoc"},
		"document reads what people write, plandoc writes it, the others read what they set up"},
	{"github.com/bmatcuk/doublestar/", []string{"internal/glob"}, "glob says what a pattern means"},
	{"gonum.org/", []string{"bench"}, "pictures of measurements are bench's"},
	{"github.com/yuin/goldmark/extension", nil,
		"it compiles expressions at every start; internal/web has what a page needs of it"},
	{"github.com/hanwen/go-fuse/", []string{"bench/chaos"}, "the program's module does without it"},
	{"github.com/santhosh-tekuri/jsonschema/", nil, "it costs every start; internal/schema is held against it in tests"},
	{"os/exec", []string{"bench", "bench/workers", "cmd/git-wf", "internal/attacktest", "internal/chaostest", "internal/gitstore",
		"internal/process", testsAlone, testsAlone + "/tool"}, "processes are started in one place for git and one for the rest"},
}

// unlinked are the packages that the program has no part in: how they start costs nobody anything.
var unlinked = []string{"bench", "bench/chaos", "bench/plans", "bench/replay", "bench/workers", "internal/attacktest", "internal/chaostest", testsAlone,
	testsAlone + "/tool", "internal/wiretest"}

// pure are the packages that decide; everything that decisions rest on is an argument. They may not import impure ones.
var pure = []string{"internal/act", "internal/plain", "internal/plan", "internal/plandoc", "internal/policy",
	"internal/relpath", "internal/rule", "internal/secret", "internal/workflow"}

var impure = []string{"os", "os/", "net", "net/", "context", "syscall", "path/filepath", "io/fs", "math/rand",
	"math/rand/", "crypto/rand", "log", "log/"}

// surroundings are the parts of package os that belong to main: below it they are arguments.
var surroundings = []string{"Exit", "Args", "Stdin", "Stdout", "Stderr", "Chdir", "Setenv", "Unsetenv", "Clearenv"}

func TestArchitecture(t *testing.T) {
	rows := map[string][]string{}
	for i, row := range allowed {
		rows[row.pkg] = row.uses
		for _, above := range allowed[:i] {
			if slices.Contains(row.uses, above.pkg) {
				t.Errorf("the table lets %s import %s, which is above it", row.pkg, above.pkg)
			}
		}
	}
	found := map[string]bool{}
	fset := token.NewFileSet()
	for _, name := range goFiles(t) {
		pkg := path.Dir(name)
		uses, known := rows[pkg]
		if !known && !found[pkg] {
			t.Errorf("%s: the package is not in the table; say there what it may import", pkg)
		}
		found[pkg] = true
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range judge(pkg, uses, known, file) {
			t.Errorf("%s: %s", name, finding)
		}
	}
	for _, row := range allowed {
		if !found[row.pkg] {
			t.Errorf("%s is in the table, but there is no such package", row.pkg)
		}
	}
}

// TestMap holds docs/map.md, the map that people read, to the table.
func TestMap(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "map.md"))
	if err != nil {
		t.Fatal(err)
	}
	var onMap, program, others []string
	for line := range strings.Lines(string(data)) {
		row, ok := strings.CutPrefix(line, "- `")
		if name, _, dir := strings.Cut(row, "/`: "); ok && dir {
			onMap = append(onMap, name)
		}
	}
	for _, row := range allowed {
		if row.pkg == "internal/arch" || slices.Contains(unlinked, row.pkg) {
			others = append(others, row.pkg)
		} else {
			program = append(program, row.pkg)
		}
	}
	if want := append(program, others...); !slices.Equal(onMap, want) {
		t.Errorf("docs/map.md has the packages\n%q, want\n%q", onMap, want)
	}
}

// TestJudge shows that each rule can find something.
func TestJudge(t *testing.T) {
	tests := []struct{ name, pkg, src, want string }{
		{"upward import", "internal/plan", `package p; import "gitwf/internal/gitstore"`,
			"must not import gitwf/internal/gitstore"},
		{"sideways import", "internal/check", `package p; import "gitwf/internal/agent"`,
			"must not import gitwf/internal/agent"},
		{"impure import", "internal/plan", `package p; import "os/exec"`, "internal/plan is pure"},
		{"somebody else's library", "internal/engine", `package p; import "github.com/go-git/go-git/v5"`, "gitstore alone"},
		{"init", "internal/gate", `package p; func init() {}`, "has an init function"},
		{"exit", "internal/gate", `package p; import "os"; func f() { os.Exit(1) }`, "uses os.Exit"},
		{"exit under another name", "hooks", `package p; import sys "os"; func f() { sys.Exit(1) }`, "uses os.Exit"},
		{"output", "internal/engine", `package p; import "os"; var out = os.Stdout`, "uses os.Stdout"},
		{"what tests alone may import", "internal/gate", `package p; import "gitwf/internal/repotest"`, "must not import"},
		{"expression at start", "internal/gate", `package p; import "regexp"; var a = regexp.MustCompile("x")`,
			"pattern.Compile"},
		{"expression in time", "internal/gate",
			`package p; import "regexp"; var a = func() any { return regexp.MustCompile("x") }`, ""},
		{"a method called init", "internal/gate", `package p; type t int; func (t) init() {}`, ""},
		{"exit in main", "cmd/git-wf", `package main; import "os"; func main() { os.Exit(1) }`, ""},
		{"an import that is allowed", "internal/gate", `package p; import "gitwf/internal/export"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", tt.src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			var uses []string
			for _, row := range allowed {
				if row.pkg == tt.pkg {
					uses = row.uses
				}
			}
			got := strings.Join(judge(tt.pkg, uses, true, file), "; ")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("judge found %q, want %q", got, tt.want)
			}
		})
	}
}

// judge returns what is wrong with one file of a package that may use the given ones of ours.
func judge(pkg string, uses []string, known bool, file *ast.File) []string {
	var findings []string
	osName := ""
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it already
		}
		if imported == "os" {
			osName = "os"
			if spec.Name != nil {
				osName = spec.Name.Name
			}
		}
		ours, isOurs := strings.CutPrefix(imported, module+"/")
		if known && isOurs && !slices.Contains(uses, ours) && !slices.Contains(everywhere, ours) {
			findings = append(findings, pkg+" must not import "+imported)
		}
		if slices.Contains(pure, pkg) && slices.ContainsFunc(impure, func(p string) bool { return covers(p, imported) }) {
			findings = append(findings, pkg+" is pure and must not import "+imported)
		}
		for _, o := range only {
			if covers(o.imported, imported) && !slices.Contains(o.by, pkg) {
				findings = append(findings, pkg+" must not import "+imported+": "+o.why)
			}
		}
	}
	if !slices.Contains(unlinked, pkg) && compilesAtStart(file) {
		findings = append(findings, "compiles a regular expression at the program's start; use pattern.Compile")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				findings = append(findings, "has an init function; what it sets up belongs to a value that somebody makes")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && osName != "" && x.Name == osName && file.Name.Name != "main" && pkg != testsAlone &&
				slices.Contains(surroundings, n.Sel.Name) {
				findings = append(findings, "uses os."+n.Sel.Name+", which is for main alone")
			}
		}
		return true
	})
	return findings
}

// compilesAtStart reports whether a variable of the package is a compiled regular expression.
func compilesAtStart(file *ast.File) bool {
	found := false
	for _, decl := range file.Decls {
		if _, ok := decl.(*ast.GenDecl); !ok {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				x, ok := sel.X.(*ast.Ident)
				found = found || ok && x.Name == "regexp" && sel.Sel.Name == "MustCompile"
			}
			_, waits := n.(*ast.FuncLit)
			return !waits
		})
	}
	return found
}

// covers reports whether an entry of a table stands for an import path.
func covers(entry, imported string) bool {
	return entry == imported || strings.HasSuffix(entry, "/") && strings.HasPrefix(imported, entry)
}

// root is the top of the module, seen from this package.
const root = "../.."

// goFiles lists the Go files of the repository by their path below the top, as the go command would: no testdata, no
// hidden directories. Those of the nested modules are among them.
func goFiles(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(base, ".go") && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// mostNames is how many names the model may export: constants, variables, types and functions, methods apart.
const mostNames = 211

// TestModelNames keeps the model small. What only one package uses belongs there; what is no word of the model, nor
// follows from what is recorded, belongs to a package of its own.
func TestModelNames(t *testing.T) {
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, name := range goFiles(t) {
		if path.Dir(name) != "internal/plan" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil,
			parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						add(s.Names...)
					}
				}
			}
		}
	}
	if len(names) == 0 || len(names) > mostNames {
		t.Errorf("internal/plan exports %d names, want 1 to %d", len(names), mostNames)
	}
}
