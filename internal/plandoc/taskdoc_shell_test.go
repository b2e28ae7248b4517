package plandoc

import (
	"errors"
	"strings"
	"testing"
)

// What counts as a reference in a command line, how it is quoted where it stands, and where none may stand.
func TestExpand(t *testing.T) {
	values := map[string]Value{
		"out": {Text: "it's $(x) `y` \"z\""}, "parent": {Text: "IMPL-1"}, "opt": {Text: "--pre=evil"},
		"session-id":  {Text: "WFS-shop"},
		"focus_paths": {Text: "src/a\nsrc b", List: []string{"src/a", "src b"}, Many: true}, "none": {Many: true},
		"shared_context.auth-strategy": {Text: "JWT"}, "shared_context.auth_strategy": {Text: "none"},
	}
	const v = "${WF_VAR_out}"
	tests := []struct{ name, line, want string }{
		{"a word", "cat [out]", `cat "` + v + `"`},
		{"part of a word", "cat dir/[out].md", `cat dir/"` + v + `".md`},
		{"in double quotes", `gemini -p "Found: [out]!"`, `gemini -p "Found: ` + v + `!"`},
		{"in single quotes", `rg 'a [out] b' src`, `rg 'a '"` + v + `"' b' src`},
		{"before a substitution", `echo [out] "$(date)"`, `echo "` + v + `" "$(date)"`},
		{"twice", "cat [out] [out]", `cat "` + v + `" "` + v + `"`},
		{"a list", "rg auth [focus_paths] | head", `rg auth "${WF_VAR_focus_paths}" "${WF_VAR_focus_paths_2}" | head`},
		{"a list in quotes", `echo "[focus_paths]"`, `echo "${WF_VAR_focus_paths}"`},
		{"an empty list", "rg auth [none] src", "rg auth  src"},
		{"names that become one", "echo [shared_context.auth-strategy] [shared_context.auth_strategy]",
			`echo "${WF_VAR_shared_context_auth_strategy}" "${WF_VAR_shared_context_auth_strategy_2}"`},
		{"the session", "cat .workflow/WFS-[session-id]/x .workflow/[session-id]/x",
			`cat .workflow/WFS-"${WF_VAR_session_id}"/x .workflow/"${WF_VAR_session_id_2}"/x`},
		{"in a loop", "for d in [focus_paths]; do cat \"$d\"; done",
			`for d in "${WF_VAR_focus_paths}" "${WF_VAR_focus_paths_2}"; do cat "$d"; done`},
		{"an assignment", "A=[out] env", `A="` + v + `" env`},
		{"behind --", "cat -- [opt]", `cat -- "${WF_VAR_opt}"`},
		{"inside a word, like an option", "cat x[opt]", "cat x[opt]"},
		{"an option's value", "tool --x=[opt]", `tool --x="${WF_VAR_opt}"`},

		{"a test", "[ -f out ] && [[ -n out ]]", "[ -f out ] && [[ -n out ]]"},
		{"a pattern of letters", "ls *.[ch] [abc]*", "ls *.[ch] [abc]*"},
		{"a repeated class", "rg '[out]+' src", "rg '[out]+' src"},
		{"a class", "rg '[[:alpha:]]' src", "rg '[[:alpha:]]' src"},
		{"an index", "echo ${a[out]} a[out]", "echo ${a[out]} a[out]"},
		{"escaped", `rg '\[out]' src`, `rg '\[out]' src`},
		{"a comment", "cat x # [out]", "cat x # [out]"},
		{"an unknown name", "cat [other]", "cat [other]"},

		{"a program", "[out] x", "error: [out] stands where the name of a program does"},
		{"a program after then", "if true; then [out]; fi", "error: [out] stands where the name of a program does"},
		{"in a substitution", `echo "$(cat [out])"`, "error: [out] stands behind $("},
		{"behind a substitution", `echo "$(date)" [out]`, "error: [out] stands behind $("},
		{"in a group", "(cat [out])", "error: [out] stands behind ("},
		{"in a substituted process", "bash <(echo [out])", "error: [out] stands behind ("},
		{"a program after env", "env A=1 [out]", "error: [out] stands where the name of a program does"},
		{"sh -c", `sh -c 'echo [out]'`, "error: [out] is given to sh"},
		{"bash by its path", `/bin/bash -c "echo [out]"`, "error: [out] is given to bash"},
		{"xargs sh -c", `ls | xargs -n 1 sh -c 'echo [out]'`, "error: [out] is given to sh"},
		{"eval", "eval echo [out]", "error: [out] is given to eval"},
		{"a shell in a variable", "$SHELL -c [out]", "error: [out] is given to $SHELL"},
		{"python", "python3.12 -c '[out]'", "error: [out] is given to python3.12"},
		{"awk", "awk '/[out]/' x", "error: [out] is given to awk"},
		{"find -exec", "find . -exec [out] ;", "error: [out] is given to -exec"},
		{"arithmetic", "echo $((1 + [out]))", "error: [out] stands behind $("},
		{"an expansion", "echo ${x:-[out]}", "error: [out] stands behind ${"},
		{"backquotes", "echo `cat [out]`", "error: [out] stands behind `"},
		{"a file to write", "echo x > [out]", "error: [out] names a file that is written"},
		{"a here-document", "cat <<E\n[out]\nE", "error: [out] stands behind <<"},
		{"an option", "rg [opt]", "error: [opt] begins with a hyphen"},
		{"an option in quotes", `rg "[opt]"`, "error: [opt] begins with a hyphen"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, err := Expand(tt.line, values)
			got := x.Line
			var wrong *ReferenceError
			if errors.As(err, &wrong) {
				got = "error: " + err.Error()
			}
			if got != tt.want && (!strings.HasPrefix(tt.want, "error: ") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// No value is ever part of the line, and what is no reference stays as it is.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"cat [out]", `a "$(b '[out]')" #[out]`, "x <<E\n[out]", "`[out]` ${[out]} $(( [out] )",
		"case x in a) [out];; esac", "[[out]]\\[out]"} {
		f.Add(seed)
	}
	const secret = "SECRET;$(reboot)`reboot`'\""
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "SECRET") || strings.Contains(line, "WF_VAR") {
			return
		}
		x, err := Expand(line, map[string]Value{"out": {Text: secret}, "many": {List: []string{secret, secret}, Many: true}})
		if err != nil {
			return
		}
		if strings.Contains(x.Line, "SECRET") {
			t.Errorf("%q: the value is in the line %q", line, x.Line)
		}
		// Quotes apart, of which references bring their own: `'[out]'` becomes `''"${WF_VAR_out}"''`.
		bare := strings.NewReplacer("'", "", `"`, "").Replace
		got := strings.NewReplacer(
			"${WF_VAR_out}", "[out]", "${WF_VAR_many} ${WF_VAR_many_2}", "[many]", "${WF_VAR_many} ${WF_VAR_many}", "[many]",
			"${WF_VAR_many}", "[many]",
		).Replace(bare(x.Line))
		if got != bare(line) {
			t.Errorf("%q became %q", line, x.Line)
		}
	})
}

func TestReadCommand(t *testing.T) {
	tests := []struct {
		written string
		form    stepForm
		want    string
	}{
		{"bash(rg 'login|auth' src/ | head -10)", StepShell, "rg 'login|auth' src/ | head -10"},
		{"  bash(cat a &&\n cat b)  ", StepShell, "cat a &&\n cat b"},
		{`rg "auth|login" --type ts`, StepShell, `rg "auth|login" --type ts`},
		{"for dep in a b; do\n  cat $dep\ndone", StepShell, "for dep in a b; do\n  cat $dep\ndone"},
		{"MODE=x ./run", StepShell, "MODE=x ./run"},
		{"~/bin/gemini-wrapper -p 'x'", StepShell, "~/bin/gemini-wrapper -p 'x'"},
		{"Read(docs/a.md)", StepRead, "docs/a.md"},
		{`Read("docs/a b.md")`, StepRead, "docs/a b.md"},
		{"Search(class .*Service)", StepSearch, "class .*Service"},
		{"Grep('a, b', src)", StepSearch, "a, b|src"},
		{"Grep(pattern='x', path=src/auth)", StepSearch, "x|src/auth"},
		{"Glob(src/**/*.ts)", stepFind, "src/**/*.ts"},
		{"Extract(brainstorm.path)", StepAdvice, ""},
		{"mcp__code-index__find_files(pattern=x)", StepAdvice, ""},
		{"Explore the auth module with Read and Grep", StepAdvice, ""},
		{"阅读项目文档", StepAdvice, ""},
		{"bash()", StepAdvice, ""},
		{"Read()", StepAdvice, ""},
	}
	for _, tt := range tests {
		t.Run(tt.written, func(t *testing.T) {
			c := readCommand(tt.written)
			got := c.Line
			if c.Form != StepShell {
				got = strings.Join(c.Args, "|")
			}
			if c.Form != tt.form || got != tt.want {
				t.Errorf("got %s %q, want %s %q", c.Form, got, tt.form, tt.want)
			}
		})
	}
}
