package outline

import (
	"strings"
	"testing"

	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// What the source measures beside a command is never dropped: a shell decides all of it, or a reviewer does.
func TestNothingMeasuredIsDropped(t *testing.T) {
	for _, tt := range []struct {
		acceptance string
		manual     bool
	}{
		{"`make test` 退出码 0；识别率 ≥ 98%", true},
		{"`cargo bench -p parser` under 5 ms", true},
		{"hash time between 80 ms and 300 ms (`python bench_hash.py`)", true},
		{"`mvn -q test`，0 失败；接口覆盖率不低于 80%", true},
		{"运行 `pytest -q`，要求 passed>=20 且 failed==0", true},
		{"接口 P95 ≤ 200ms（`k6 run perf/login.js`）", true},
		{"coverage at least 85% (`pytest --cov-fail-under=85`)", false},
		{"`ls src | wc -l` >= 5", false},
		{"`make test` passes", false},
		{"the 3 importers work: `make import`", false},
	} {
		o, fs := Parse("plan.md", []byte("# P\n\n## Task 1: X\n- status: TODO\n- acceptance: "+tt.acceptance+"\n"))
		if len(fs) > 0 {
			t.Fatalf("%s: %v", tt.acceptance, fs)
		}
		doc, fs := o.Plan()
		if len(fs) > 0 {
			t.Fatalf("%s: %v", tt.acceptance, fs)
		}
		p, err := plandoc.ParseValid("plan.yaml", doc, policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range p.Tasks {
			for _, c := range task.AcceptanceCriteria {
				if strings.Contains(c.Statement, "says what was done") {
					continue
				}
				if c.Manual() != tt.manual {
					t.Errorf("%s: %q, run line %q; want manual: %t", tt.acceptance, c.Statement, c.Run, tt.manual)
				}
			}
		}
	}
}
