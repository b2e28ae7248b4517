package outline

import (
	"strings"
	"testing"
	"time"
)

func TestPerfTmp(t *testing.T) {
	for name, unit := range map[string]string{
		"heads": "# a\n", "nest": "# a\n## b\n### c\n#### d\n##### e\n###### f\n", "items": "- [ ] T1 a\n", "star": "*", "tick": "`a ", "bars": "a | b | status: x | ", "semi": "status: a; ", "paren": "((((", "table": "| a | status |\n|---|---|\n| x | done |\n\n", "quote": "> a\n", "fields": "- status: todo\n- acceptance:\n", "deeplist": "- a\n  - b\n    - c\n      - d\n", "arrow": "`go x` -> 1 ", "bold": "**a** ", "lt": "<a <b ", "cjk": "任务一：状态：完成。", "br": "[", "dots": "1.1 a\n", "link": "[a](b) ", "digits": "1", "num": "1. a\n", "dep": "### T1: a\n- depends on: T1 T2 T3\n", "tasks": "### T1: a\n- status: todo\n- acceptance: x\n",
	} {
		src := strings.Repeat(unit, MaxBytes/len(unit))
		at := time.Now()
		o, fs := Parse("x.md", []byte("# P\n\n### Task 1: x\n- status: todo\n\n"+src[:MaxBytes-60]))
		d1 := time.Since(at)
		var d2 time.Duration
		if o != nil {
			at = time.Now()
			o.Plan(Defaults{})
			d2 = time.Since(at)
		}
		if d1+d2 > time.Second {
			t.Logf("%s parse %v plan %v (%d findings)", name, d1, d2, len(fs))
		}
	}
}
