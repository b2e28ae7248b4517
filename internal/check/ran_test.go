package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/process"
	"gitwf/internal/repotest/tool"
)

// What the runners print, as their versions of 2024 and 2025 do, where none of the tests ran and where some did.
func TestNoTestsRan(t *testing.T) {
	for _, test := range []struct {
		name, output string
		none         bool
	}{
		{"nothing", "", false},
		{"no runner", "no tests here, all fine\nzero tests found\n", false},
		{"go, no files", "?   \tm/a\t[no test files]\n?   \tm/b\t[no test files]\n", true},
		{"go, one package has", "?   \tm/a\t[no test files]\nok  \tm/b\t0.004s\n", false},
		{"go, cached", "?   \tm/a\t[no test files]\nok  \tm/b\t(cached)\n", false},
		{"go, none of the name", "testing: warning: no tests to run\nPASS\nok  \tm/b\t0.003s [no tests to run]\n", true},
		{"go, none of the name in one", "ok  \tm/a\t0.003s [no tests to run]\nok  \tm/b\t0.003s\n", false},
		{"go, does not compile", "?   \tm/a\t[no test files]\nFAIL\tm/b [build failed]\nFAIL\n", false},
		{"go, coverage", "ok  \tm/b\t0.004s\tcoverage: 80.0% of statements\n", false},
		{"go, json", `{"Action":"output","Output":"?   \tm/a\t[no test files]\n"}` + "\n" + `{"Action":"skip"}`, true},
		{"go, json of some", `{"Action":"output","Output":"?   \tm/a\t[no test files]\n"}` + "\n" + `{"Action":"run"}`, false},
		{"go, matches nothing", "go: warning: \"./...\" matched no packages\nno packages to test\n", true},
		{"pytest", "collected 0 items\n\n============ no tests ran in 0.01s ============\n", true},
		{"pytest, quiet", "no tests ran in 0.00s\n", true},
		{"pytest, no file", "ERROR: file or directory not found: x\n\nno tests ran in 0.00s\n", true},
		{"pytest, deselected", "====== 3 deselected in 0.01s ======\n", true},
		{"pytest, skipped", "====== 2 skipped, 1 warning in 0.01s ======\n", true},
		{"pytest, some skipped", "====== 1 passed, 2 skipped in 0.01s ======\n", false},
		{"pytest, can't import", "!!!! Interrupted: 1 error during collection !!!!\n==== 1 error in 0.08s ====\n", false},
		{"pytest, failed", "=== 1 failed, 3 deselected in 0.02s ===\n", false},
		{"unittest", "Ran 0 tests in 0.000s\n\nOK\n", true},
		{"unittest of 3.12", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", true},
		{"unittest, some", "Ran 2 tests in 0.001s\n\nFAILED (errors=1)\n", false},
		{"node", "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n", true},
		{"node, spec", "ℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0\n", true},
		{"node, some", "ok 1 - adds\n1..1\n# tests 1\n# pass 1\n# fail 0\n", false},
		{"node, spec, failing", "✖ adds (1ms)\nℹ tests 1\nℹ pass 0\nℹ fail 1\n", false},
		{"jest", "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\n", true},
		{"jest, some", "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\n", false},
		{"jest, one of two", "No tests found related to files\nTests:       1 failed, 1 total\n", false},
		{"vitest", "\nNo test files found, exiting with code 1\n", true},
		{"vitest, some", " Test Files  1 passed (1)\n      Tests  3 passed (3)\n", false},
		{"playwright", "Error: No tests found\n", true},
		{"playwright, some", "Running 3 tests using 2 workers\n  3 passed (1.2s)\n", false},
		{"mocha", "\n\n  0 passing (1ms)\n\n", true},
		{"mocha, some", "\n  2 passing (4ms)\n  1 failing\n", false},
		{"mocha, failing alone", "\n  0 passing (4ms)\n  1 failing\n", false},
		{"deno", "ok | 0 passed | 0 failed | 3 filtered out (2ms)\n", true},
		{"deno, some", "ok | 1 passed | 0 failed (2ms)\n", false},
		{"cargo", "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n\n   Doc-tests m\n\nrunning 0 tests\n", true},
		{"cargo, the second has", "running 0 tests\n\nrunning 2 tests\ntest a ... ok\n", false},
		{"cargo, does not compile", "error[E0425]: cannot find function `add`\nerror: could not compile `m`\n", false},
		{"ctest", "Test project /x\nNo tests were found!!!\n", true},
		{"ctest, some", "100% tests passed, 0 tests failed out of 3\n", false},
		{"phpunit", "PHPUnit 10.5\n\nNo tests executed!\n", true},
		{"phpunit, some", "OK (2 tests, 3 assertions)\n", false},
		{"phpunit, failing", "Tests: 2, Assertions: 3, Failures: 1.\n", false},
		{"rspec", "\nFinished in 0.0003 seconds\n0 examples, 0 failures\n", true},
		{"rspec, can't load", "0 examples, 0 failures, 1 error occurred outside of examples\n", false},
		{"rspec, some", "3 examples, 1 failure\n", false},
		{"dotnet", "  No test is available in /x/bin/x.dll. Make sure that test discoverer is registered.\n", true},
		{"dotnet, some", "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2\n", false},
		{"maven", "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n", true},
		{"maven, none", "[INFO] No tests to run.\n", true},
		{"maven, the second module has", "[INFO] Tests run: 0, Failures: 0\n[INFO] Tests run: 4, Failures: 0\n", false},
		{"gradle", "> Task :test NO-SOURCE\nBUILD SUCCESSFUL in 1s\n", true},
		{"gradle, a module has", "> Task :a:test NO-SOURCE\n> Task :b:test\nBUILD SUCCESSFUL in 1s\n", false},
		{"bats", "1..0\n", true},
		{"bats, some", "1..2\nok 1 adds\nnot ok 2 multiplies\n", false},
		{"bats, all skipped", "1..1\nok 1 adds # skip no bc\n", true},
		{"prove", "Files=0, Tests=0,  0 wallclock secs\nResult: NOTESTS\n", true},
		{"prove, some", "Files=1, Tests=2\nResult: PASS\n", false},
		{"two runners, one has", "?   \tm/a\t[no test files]\nRan 3 tests in 0.1s\n", false},
	} {
		if got := noTestsRan(test.output); got != test.none {
			t.Errorf("%s: got %v:\n%s", test.name, got, test.output)
		}
	}
}

// The runners of this machine, without tests, with one that passes and with one that fails.
func TestRunnersHere(t *testing.T) {
	write := func(t *testing.T, dir string, files ...string) {
		for i := 0; i < len(files); i += 2 {
			name := filepath.Join(dir, files[i])
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(files[i+1]), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	goFiles := []string{"go.mod", "module m\n", "a/a.go", "package a\n", "b/b.go", "package b\n"}
	goTest := func(body string) []string {
		return append(goFiles, "b/b_test.go", "package b\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {"+body+"}\n")
	}
	cargo := func(body string) []string {
		return []string{"Cargo.toml", "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs", body}
	}
	for _, test := range []struct {
		tool, line string
		files      []string
		want       string // "" is neither
	}{
		{"go", "go test ./...", goFiles, ""},
		{"go", "go test -json ./...", goFiles, ""},
		{"go", "go test -run Nope ./...", goTest(""), ""},
		{"go", "go test ./...", goTest(""), "green"},
		{"go", "go test ./...", goTest("t.Fail()"), "red"},
		{"go", "go test ./...", goTest("undefined()"), "red"},
		{"node", "node --test", nil, ""},
		{"node", "node --test --test-reporter=spec", nil, ""},
		{"node", "node --test", []string{"a.test.js", "require('node:test')('x', () => {})\n"}, "green"},
		{"node", "node --test", []string{"a.test.js", "require('node:test')('x', () => { throw 1 })\n"}, "red"},
		{"python3", "python3 -m unittest", nil, ""},
		{"python3", "python3 -m unittest", []string{"test_x.py",
			"import unittest\nclass X(unittest.TestCase):\n    def test_x(self): pass\n"}, "green"},
		{"python3", "python3 -m unittest", []string{"test_x.py", "import nothing_of_the_kind\n"}, "red"},
		{"cargo", "cargo test -q --offline", cargo("pub fn a() {}\n"), ""},
		{"cargo", "cargo test --offline", cargo("#[test]\nfn a() {}\n"), "green"},
	} {
		t.Run(test.line+" is "+test.want, func(t *testing.T) {
			tool.Need(t, test.tool)
			s := setup(t)
			s.Environ = process.Environ(os.Environ())
			s.Checkout = func(context.Context, bool) (string, error) {
				dir, err := os.MkdirTemp(s.Scratch, "")
				write(t, dir, test.files...)
				return dir, err
			}
			c := plan.Criterion{ID: "A1", Run: test.line, CheckMethod: plan.StaticCheck}
			results, err := Run(t.Context(), []plan.Criterion{c}, s)
			if err != nil {
				t.Fatal(err)
			}
			got := map[bool]string{true: "green", false: "red"}[results[0].Passed()]
			if strings.HasSuffix(results[0].Evidence, "\n"+noTests) && !results[0].Passed() {
				got = ""
			}
			if got != test.want {
				t.Errorf("got %q: %s", got, results[0].Evidence)
			}
		})
	}
}

// A line that runs no test before the work has not failed there.
func TestRedWithoutTests(t *testing.T) {
	for _, test := range []struct{ before, result, evidence string }{
		{"exit 1", plan.ResultPass, "Before the work: exit 1"},
		{"echo 'running 0 tests'; exit 1", plan.ResultFail, "before the work it neither passes nor fails"},
		{"echo 'running 0 tests'", plan.ResultFail, "before the work it neither passes nor fails"},
		{"true", plan.ResultFail, "it passes before the work, too"},
	} {
		s := setup(t)
		s.Checkout = func(_ context.Context, before bool) (string, error) {
			dir, err := os.MkdirTemp(s.Scratch, "")
			if before {
				return dir, os.WriteFile(filepath.Join(dir, "before"), nil, 0o666)
			}
			return dir, err
		}
		c := plan.Criterion{ID: "A1", Run: "test ! -e before || { " + test.before + "; }", Red: "base"}
		results, err := Run(t.Context(), []plan.Criterion{c}, s)
		if err != nil || results[0].Result != test.result || !strings.Contains(results[0].Evidence, test.evidence) {
			t.Errorf("%s: %+v, %v", test.before, results, err)
		}
	}
}
