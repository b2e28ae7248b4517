package outline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	pat := os.Getenv("VIEW")
	if pat == "" {
		t.Skip()
	}
	files, _ := filepath.Glob(pat)
	for _, f := range files {
		data, _ := os.ReadFile(f)
		o, fs := Parse(filepath.Base(f), data)
		fmt.Printf("=== %s\n", filepath.Base(f))
		if len(fs) > 0 {
			fmt.Println("REFUSED", fs)
			continue
		}
		fmt.Printf("title=%q top=%q reqs=%d\n", o.Title, short(o.TopTask, 80), len(o.Requirements))
		for _, q := range o.Requirements {
			fmt.Printf("   req %s %q cmd=%q\n", q.ID, short(q.Text, 60), q.Command)
		}
		var show func([]*Task, int)
		show = func(ts []*Task, d int) {
			for _, t := range ts {
				g := "-"
				if t.Goal {
					g = "G"
				}
				fmt.Printf("%s%s %s [%s] %q st=%s/%q days=%v dep=%v del=%v cov=%v ev=%d L%d\n", strings.Repeat("  ", d), g, t.ID, t.SourceID, short(t.Title, 50), t.Status.State, t.Status.Word, t.EstimateDays, t.DependsOn, t.Deliverables, t.Covers, len(t.Evidence), t.Line)
				for _, c := range t.Acceptance {
					fmt.Printf("%s    * %q cmd=%q exp=%q bef=%q L%d\n", strings.Repeat("  ", d), short(c.Text, 50), c.Command, c.Expect, c.Before, c.Line)
				}
				show(t.Tasks, d+1)
			}
		}
		show(o.Tasks, 0)
		if _, fs := o.Plan(Defaults{}); len(fs) > 0 {
			fmt.Println("NO PLAN", fs)
		}
	}
}
