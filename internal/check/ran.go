package check

import (
	"regexp"
	"strings"
	"sync"
)

// runners says how test runners report, line by line, that no test ran, and that some did. Every line is read for all
// of them: a run line may start several. A skipped test did not run. Tests that don't compile, or can't be imported,
// count: that is how they fail before the work.
var runners = []struct{ tool, none, some string }{
	{"go test",
		`\[no test files\]|\[no tests to run\]|^testing: warning: no tests to run|^no packages to ` +
			`test|matched no packages$`,
		`^ok  \t|^FAIL\b|^\s*--- (PASS|FAIL)|"Action":"(run|build-fail)"`},
	{"pytest", `^=* ?no tests (ran|collected)|^=* ?(\d+ (skipped|deselected|warnings?)(, )?)+ in \d`,
		`^=* ?(\d+ [a-z]+, )*[1-9]\d* (passed|failed|errors?|xfailed|xpassed)\b`},
	{"unittest", `^Ran 0 tests|^NO TESTS RAN`, `^Ran [1-9]\d* tests?`},
	{"node --test", `^(#|ℹ) (tests|pass) 0$`, `^(#|ℹ) (pass|fail|cancelled) [1-9]`},
	{"TAP: bats, prove",
		`^1\.\.0\b|^ok \d+\b.*# (?i:skip)|^Result: NOTESTS|^No tests`,
		`^(not )?ok \d+\b|^Result: (PASS|FAIL)`},
	{"jest, vitest, ava, playwright", `\bNo test(s| files| suite) found\b|^\s*Tests:?\s+no tests`,
		`^\s*Tests:?\s.*\b[1-9]\d* (passed|failed)|^\s*[1-9]\d* (tests? )?(passed|failed)\b`},
	{"mocha", `^\s*0 passing\b|^Error: No test files found`, `^\s*[1-9]\d* (passing|failing)\b`},
	{"deno, bun",
		`^(ok|FAILED) \| 0 passed\b.*\| 0 failed|No test modules found|^Ran 0 tests across`,
		`^(ok|FAILED) \| .*\b[1-9]\d* (passed|failed)\b|^Ran [1-9]\d* tests? across`},
	{"cargo test", `^running 0 tests`, `^running [1-9]\d* tests?`},
	{"ctest", `^No tests were found`, `tests passed, \d+ tests failed out of [1-9]`},
	{"phpunit", `^No tests executed!`, `^OK \([1-9]|^Tests: [1-9]`},
	{"rspec", `^0 examples, 0 failures(, \d+ pending)?$`, `^[1-9]\d* examples?, `},
	{"dotnet test", `^\s*No test (is available in|matches the given)`,
		`^\s*(Passed|Failed)! +-|^\s*Total tests: [1-9]`},
	{"maven, gradle",
		`Tests run: 0,|\bNo tests to run\.|^> Task :(\S+:)?\w*[tT]est NO-SOURCE|^No tests found for given includes`,
		`Tests run: [1-9]|^> Task :(\S+:)?\w*[tT]est( FAILED| UP-TO-DATE| FROM-CACHE)?$`},
	{"swift, sbt, mix",
		`\bExecuted 0 tests|^\[info\] (No tests were executed|Total number of tests run: 0)|^There are no tests to run`,
		`\bExecuted [1-9]\d* tests?|^\[info\] Total number of tests run: [1-9]|^[1-9]\d* tests?, \d+ failures?`},
}

// noTestsRan reports whether an output says that no test ran, and nothing in it that one did.
func noTestsRan(output string) bool {
	noneRan, someRan := reports()
	none := false
	for line := range strings.SplitSeq(output, "\n") {
		switch {
		case noneRan.MatchString(line):
			none = true
		case someRan.MatchString(line):
			return false
		}
	}
	return none
}

// reports joins what the runners say, on first use.
var reports = sync.OnceValues(func() (none, some *regexp.Regexp) {
	var nones, somes []string
	for _, r := range runners {
		nones, somes = append(nones, r.none), append(somes, r.some)
	}
	return regexp.MustCompile(strings.Join(nones, "|")), regexp.MustCompile(strings.Join(somes, "|"))
})
