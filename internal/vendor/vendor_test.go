package vendor

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/document"
	"gitwf/templates"
)

// ways lists how each piece gets into its file.
func ways(t interface{ Fatal(...any) }) (all []way) {
	vendors, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vendors {
		for _, f := range v.Files {
			text, err := templates.FS.ReadFile("setup/" + f.From)
			if err != nil {
				t.Fatal(f.From, err)
			}
			for _, name := range []string{f.Path, f.User} {
				if name != "" {
					all = append(all, way{v.Name + " " + name, f.As, piece{path.Base(name), string(text)}})
				}
			}
		}
	}
	return all
}

type way struct {
	name, as string
	piece    piece
}

// TestIdentity: whatever a file holds, what is put into it comes out again, and every byte of the rest is as before.
func TestIdentity(t *testing.T) {
	all := ways(t)
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.SampledFrom(all).Draw(t, "way")
		var text string
		switch {
		case w.as == "file":
			t.Skip("the file is ours")
		case w.as == "json":
			text = drawObject(t, w.piece.text)
		case path.Ext(w.piece.name) == ".toml":
			text = drawTOML(t)
		default:
			text = drawText(t)
		}
		checkIdentity(t, w, text)
	})
}

func checkIdentity(t interface {
	Fatalf(string, ...any)
}, w way, text string) {
	with, err := w.piece.add(w.as, text, true)
	if err != nil {
		if with, _, _ := w.piece.take(w.as, text); with != text && with != "" {
			t.Fatalf("%s: refused %q, and takes %q out of it", w.name, text, with)
		}
		return
	}
	if w.as == "json" {
		if _, err := readJSON(with); err != nil {
			t.Fatalf("%s: %q became %q: %v", w.name, text, with, err)
		}
	}
	rest, gone, err := w.piece.take(w.as, with)
	if err != nil || gone || rest != text {
		t.Fatalf("%s: %q became %q, and that %q, gone %t, %v", w.name, text, with, rest, gone, err)
	}
	again, err := w.piece.add(w.as, rest, true)
	if err != nil || again != with {
		t.Fatalf("%s: put in again: %q, at first %q, %v", w.name, again, with, err)
	}
}

func drawSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", " ", "\n", "\n\t", "\r\n   ", "  \n      ", "/* {\"a\": [ */", "// it's \"so\n"}).Draw(t, "space")
}

// drawObject makes an object that may have some of the keys that a wanted one has.
func drawObject(t *rapid.T, wanted string) string {
	var keys []string
	var from func(any)
	from = func(v any) {
		if o, ok := v.(map[string]any); ok {
			for k, kid := range o {
				keys = append(keys, k)
				from(kid)
			}
		}
	}
	var v any
	if err := json.Unmarshal([]byte(wanted), &v); err != nil {
		t.Fatal(err)
	}
	from(v)
	keys = slices.DeleteFunc(keys, func(k string) bool { return strings.Contains(k, "git") })
	slices.Sort(keys)
	keys = append(keys, "theirs", "größer", `a\"b`, "")
	var value func(depth int, v any) string
	value = func(depth int, like any) string {
		if o, ok := like.(map[string]any); depth == 0 || ok && rapid.IntRange(0, 9).Draw(t, "as wanted") > 0 {
			return "{" + members(t, keys, o, func(v any) string { return value(depth+1, v) }) + "}"
		}
		if _, ok := like.([]any); depth < 4 && (ok || rapid.IntRange(0, 3).Draw(t, "list") == 0) {
			return "[" + members(t, nil, nil, func(v any) string { return value(depth+1, v) }) + "]"
		}
		return rapid.SampledFrom([]string{"1", "-2.5e3", "true", "null", `""`, `"a, b"`, `"//"`, `"\\"`, `"{"`, "{}", "[]", `"git status"`}).Draw(t, "scalar")
	}
	return drawSpace(t) + value(0, v) + drawSpace(t)
}

func members(t *rapid.T, keys []string, like map[string]any, value func(any) string) string {
	var b strings.Builder
	b.WriteString(drawSpace(t))
	used := map[string]bool{}
	n := rapid.IntRange(0, 3).Draw(t, "members")
	for i := range n {
		if i > 0 {
			b.WriteString("," + drawSpace(t))
		}
		if keys == nil {
			b.WriteString(value(nil) + drawSpace(t))
			continue
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		for used[key] {
			key += "x"
		}
		used[key] = true
		b.WriteString(`"` + key + `"` + drawSpace(t) + ":" + drawSpace(t) + value(like[key]) + drawSpace(t))
	}
	if n > 0 && rapid.IntRange(0, 5).Draw(t, "comma") == 0 {
		b.WriteString("," + drawSpace(t))
	}
	return b.String()
}

func drawTOML(t *rapid.T) string {
	return drawLines(t, []string{"# mine", `model = "gpt-5"`, "[features]", "hooks = true", "[mcp_servers.other]", `command = "x"`,
		"  [a.b]  ", `[[rules]]`, `text = """`, `"""`, "\tx = 'y'"})
}

func drawText(t *rapid.T) string {
	return drawLines(t, []string{"# Rules", "", "  - one", "```sh", "<!-- theirs -->", "@README.md", "git wf: begin", "ü\u00a0", "\ttab"})
}

func drawLines(t *rapid.T, lines []string) string {
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(lines), 0, 8).Draw(t, "lines"), eol)
	return text + rapid.SampledFrom([]string{"", eol, eol + eol, "\r"}).Draw(t, "end")
}

// TestPieces: each piece is sound in the language of its file, and what others may write in too begins on a line of its
// own, by which it is told from brackets that were there before.
func TestPieces(t *testing.T) {
	for _, w := range ways(t) {
		with, err := w.piece.add(w.as, "", false)
		if err != nil {
			t.Fatal(w.name, err)
		}
		if _, gone, err := w.piece.take(w.as, with); err != nil || !gone {
			t.Errorf("%s: a new file does not go: %v", w.name, err)
		}
		if n := strings.Count(with, "\n"); w.as == "block" && n > 15 && !strings.HasSuffix(w.name, ".rules") &&
			!strings.HasSuffix(w.name, ".js") && !strings.HasSuffix(w.name, ".toml") {
			t.Errorf("%s: a block of %d lines, expected at most 15", w.name, n)
		}
		if w.as != "json" {
			continue
		}
		if !json.Valid([]byte(w.piece.text)) {
			t.Errorf("%s is no JSON:\n%s", w.name, w.piece.text)
		}
		n, err := readJSON(w.piece.text)
		if err != nil {
			t.Fatal(err)
		}
		var check func(document.Node)
		check = func(n document.Node) {
			if n.Key == "git-wf" || len(n.Kids) == 0 {
				return
			}
			if w.piece.text[n.Begin+1] != '\n' {
				t.Errorf("%s: %q begins on the line of its bracket", w.name, n.Key)
			}
			for _, kid := range n.Kids {
				if n.Kind == document.Object {
					check(kid)
				}
			}
		}
		check(*n)
	}
}

// What has to be refused, and what is special.
func TestAdd(t *testing.T) {
	find := func(name string) way {
		all := ways(t)
		return all[slices.IndexFunc(all, func(w way) bool { return w.name == name })]
	}
	settings := find("claude .claude/settings.json")
	for _, test := range []struct {
		way        string
		text, want string // what the error says, "" if there is none
	}{
		{"claude .mcp.json", "", "line 1"},
		{"claude .mcp.json", "[]", "expected an object"},
		{"claude .mcp.json", "{\n  \"mcpServers\": []}", `line 2: "mcpServers" can't take this, so add by hand: "mcpServers": {`},
		{"claude .mcp.json", "{\n\"a\": 1\n\"b\": 2}", "line 3"},
		{"claude .mcp.json", "{\"a\": 1, \"a\": 2}", `a`},
		{"claude .mcp.json", "{} {}", "line 1"},
		{"codex .codex/config.toml", "mcp_servers = {}\n", "mcp_servers"},
		{"codex .codex/config.toml", "[ mcp_servers . \"git-wf\" ]\n", "mcp_servers"},
		{"codex .codex/config.toml", "[mcp_servers.git-wf-dev]\n", "mcp_servers"}, // a name too many is refused, too
		{"claude .claude/settings.json", `{"permissions": {"deny": {}}}`, "add by hand"},
		{"claude .claude/settings.json", `{"permissions": {"deny": {"a": 1}}}`, "add by hand"},
		{"claude .claude/settings.json", `{"hooks": {"Stop": "x"}}`, "add by hand"},
	} {
		w := find(test.way)
		_, err := w.piece.add(w.as, test.text, true)
		if got := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, %q: %v, expected %q", test.way, test.text, err, test.want)
		}
	}
	// What the user had of ours before stays theirs.
	checkIdentity(t, settings, `{"permissions": {"allow": ["Bash(git wf status:*)", "Bash(ls)"]}}`)
	checkIdentity(t, find("opencode opencode.json"), `{"permission": {"bash": {"*": "ask", "git wf show*": "deny"}}}`)
	checkIdentity(t, find("cursor .cursor/hooks.json"), `{"version": 1}`)
	// Another version's hook is replaced, and a user's next to it stays.
	old, err := settings.piece.add("json", "{\n}", true)
	if err != nil {
		t.Fatal(err)
	}
	old = strings.Replace(old, "agent-hook stop --vendor claude", "agent-hook done", 1)
	old = strings.Replace(old, `"Stop": [`, `"Stop": [{"hooks": []},`, 1)
	rest, _, err := settings.piece.take("json", old)
	if want := `"Stop": [{"hooks": []}`; err != nil || !strings.Contains(rest, want) || strings.Contains(rest, "git wf") {
		t.Errorf("%v, left: %s", err, rest)
	}
}

// A version that wrote a file of its own may be another one; what somebody changed is kept.
func TestFile(t *testing.T) {
	p := piece{"SKILL.md", "a new text\n"}
	old := piece{"SKILL.md", "an old text\n"}
	text, err := old.add("file", "", false)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{text: true, strings.ReplaceAll(text, "\n", "\r\n"): true, text + "mine\n": false,
		"mine\n": false, "": false, strings.Replace(text, "old", "odd", 1): false} {
		if _, gone, err := p.take("file", text); gone != want || (err == nil) != want {
			t.Errorf("%q: ours: %t, %v", text, gone, err)
		}
	}
}

// Nothing is followed out of the directory, and nothing there is opened that is no file.
func TestPlanHostile(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "rc")
	for _, err := range []error{os.WriteFile(outside, []byte("theirs\n"), 0o600),
		os.Symlink(outside, filepath.Join(dir, "AGENTS.md")), os.Symlink(filepath.Dir(outside), filepath.Join(dir, ".claude")),
		os.Mkdir(filepath.Join(dir, "CLAUDE.md"), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := Named("claude")
	if err != nil {
		t.Fatal(err)
	}
	for _, remove := range []bool{false, true} {
		changes, err := v.Plan(dir, false, remove)
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(dir, changes); err != nil {
			t.Error(err)
		}
		for _, c := range changes {
			if c.Path != ".mcp.json" && (c.State != "kept" || c.Why == "") {
				t.Errorf("%s: %s %s", c.Path, c.State, c.Why)
			}
		}
	}
	if data, err := os.ReadFile(outside); string(data) != "theirs\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if left, err := os.ReadDir(filepath.Dir(outside)); len(left) != 1 || err != nil {
		t.Errorf("written outside: %v, %v", left, err)
	}
}

// What an agent may call, and what a person decides, is the same everywhere; so is what the skill says.
func TestSameRules(t *testing.T) {
	read := func(name string) string {
		data, err := templates.FS.ReadFile("setup/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, pattern := range map[string]string{
		"claude/settings.json":   `"Bash\(git wf (.*):\*\)"()`,
		"codex/git-wf.rules":     `"git", "wf", "(.*)"\], decision="(.*)"`,
		"gemini/git-wf.toml":     `"git wf (.*)"()`,
		"opencode/opencode.json": `"git wf (.*)\*": "(.*)"`,
	} {
		var found, decisions []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(name), -1) {
			found = append(found, strings.ReplaceAll(m[1], `", "`, " "))
			decisions = append(decisions, m[2])
		}
		allow := []string{"next", "submit", "show", "status", "prime", "diff", "start", "log", "notes", "note", "why", "inbox", "plans",
			"graph", "trace", "prompt", "verify"}
		deny := []string{"hooks uninstall", "review", "answer", "waive", "trust", "land", "retry", "abandon", "undo", "split",
			"complete", "prune", "ui", "policy set", "policy baseline", "policy protect", "policy since", "policy unprotect",
			"policy land.revert", "policy retire", "policy prune", "policy key", "export --commit", "init --no-strict", "run --land"}
		if diff := cmp.Diff(append(allow, deny...), found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(slices.Compact(decisions)); n > 2 {
			t.Errorf("%s: allows and denies in turn", name)
		}
	}
	_, skill, _ := strings.Cut(read("skill.md"), "\n# ")
	_, rule, _ := strings.Cut(read("cursor/git-wf.mdc"), "\n# ")
	if skill != rule || skill == "" {
		t.Error("cursor's rule is not the skill")
	}
}

// What somebody changes while the question waits is not lost; a file keeps its mode and a link stays one.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	agents := filepath.Join(dir, "AGENTS.md")
	if err := os.WriteFile(agents, []byte("# Ours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("AGENTS.md", filepath.Join(dir, "CLAUDE.md")); err != nil {
		t.Skip(err)
	}
	v, err := Named("claude")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := v.Plan(dir, false, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agents, []byte("# Ours\n\nMore.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, changes); err == nil || !strings.HasSuffix(err.Error(), " has changed meanwhile") {
		t.Errorf("what was changed meanwhile: %v", err)
	}
	if text, _ := os.ReadFile(agents); string(text) != "# Ours\n\nMore.\n" {
		t.Errorf("it is lost: %q", text)
	}
	if changes, err = v.Plan(dir, false, false); err == nil {
		err = Write(dir, changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(agents)
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "CLAUDE.md")); err != nil || to != "AGENTS.md" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); left != nil {
		t.Errorf("left: %v", left)
	}
}
