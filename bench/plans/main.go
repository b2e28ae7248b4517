package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/exchange"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// row is what is known of the sources of one format.
type row struct {
	sources, runnable, lines, homeless, run int
	ours, theirs                            count
	equal, counted                          int // sources whose numbers are all equal, of those that were counted
	odd                                     []string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run -C bench ./plans DIR")
		os.Exit(2)
	}
	dir, err := filepath.Abs(os.Args[1])
	if err == nil {
		err = table(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// table reads every plan below a directory and prints what became of them.
func table(dir string) error {
	rows, seen := map[string]*row{}, map[string]bool{}
	fsys := os.DirFS(dir)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" || d.Name() == "node_modules" {
			if d != nil && d.IsDir() && name != "." {
				return fs.SkipDir
			}
			return err
		}
		if !d.IsDir() && !slices.Contains([]string{".md", ".json", ".jsonl"}, strings.ToLower(path.Ext(name))) {
			return nil
		}
		found, _ := exchange.Find(fsys, name)
		for _, f := range found {
			if key := f.Path + "\x00" + f.Name; !seen[key] && !f.Own() && !inside(seen, f.Path) {
				seen[key] = true
				measure(rows, fsys, f)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	print(rows)
	return nil
}

// inside reports whether a file is a part of a plan that was read already.
func inside(seen map[string]bool, name string) bool {
	for key := range seen {
		if dir, _, _ := strings.Cut(key, "\x00"); dir != "." && strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

const check = "the check of the repository"

func measure(rows map[string]*row, fsys fs.FS, f exchange.Found) {
	i := exchange.Read(fsys, f, exchange.Options{Check: check})
	if i.Plan == nil && len(i.Findings) == 1 && i.Findings[0].Code == "no-tasks" {
		return // nobody planned anything there yet
	}
	r := rows[string(f.Format)]
	if r == nil {
		r = &row{}
		rows[string(f.Format)] = r
	}
	r.sources++
	r.lines, r.homeless = r.lines+i.Lines, r.homeless+len(i.Homeless)
	if n := len(i.Homeless); 50*n > i.Lines { // more than 2 %
		r.odd = append(r.odd, fmt.Sprintf("%s: %d of %d lines without a home, such as line %d: %s", f.Path, n, i.Lines,
			i.Homeless[n/2].No, i.Homeless[n/2].Text))
	}
	why := runnable(i)
	if why == "" {
		r.runnable++
	} else {
		r.odd = append(r.odd, f.Path+": "+why)
	}
	if i.Plan == nil {
		return
	}
	for _, l := range plandoc.CommandLines(i.Plan) {
		if l.Line != check {
			r.run++
		}
	}
	theirs, ok := counts(fsys, f)
	if !ok {
		return
	}
	ours := countOf(i.Plan, theirs.edges >= 0)
	r.counted++
	if ours == theirs {
		r.equal++
	} else {
		r.odd = append(r.odd, fmt.Sprintf("%s: tasks, edges, done %v, counted %v", f.Path, ours, theirs))
	}
	r.ours, r.theirs = r.ours.plus(ours), r.theirs.plus(theirs)
}

// runnable says why a plan is not accepted as it is, "" if it is.
func runnable(i *exchange.Imported) string {
	if len(i.Findings) > 0 {
		return i.Findings[0].Error()
	}
	if i.Plan == nil {
		return "no plan"
	}
	draft, err := i.Draft()
	if err != nil {
		return err.Error()
	}
	p, err := plandoc.ParseValid("draft", draft, policy.Floors{})
	if err != nil {
		return err.Error()
	}
	if review := plandoc.ReviewPlan(p, plandoc.Stated); review.Verdict != plan.Approved {
		return fmt.Sprintf("rejected with a score of %d", review.Score)
	}
	return ""
}

// countOf counts in a plan what the simple reader counts in its source. withEdges leaves out edges of what gathers tasks.
func countOf(p *plan.Plan, withEdges bool) count {
	c := count{edges: -1}
	if withEdges {
		c.edges = 0
	}
	for _, t := range p.Tasks[1:] {
		if t.NodeType == plan.Goal && headed(t) {
			continue
		}
		c.tasks++
		if withEdges {
			c.edges += len(t.DependsOn)
		}
		m, _ := t.Meta["imported"].(map[string]any)
		if t.DoneElsewhere != "" || t.NodeType == plan.Goal && isDone(fmt.Sprint(m["status"])) {
			c.done++
		}
	}
	return c
}

// headed reports whether a GOAL is made of a heading, and not of a task with parts.
func headed(t *plan.Task) bool {
	m, _ := t.Meta["imported"].(map[string]any)
	id := fmt.Sprint(m["id"])
	return strings.Contains(id, "section ") || strings.HasPrefix(id, "group ") || strings.HasPrefix(id, "milestone ")
}

func print(rows map[string]*row) {
	fmt.Println("| format | sources | runnable at once | tasks, counted | edges, counted | done, counted | " +
		"sources all equal | lines with a home | lines that would run |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	var formats []string
	for format := range rows {
		formats = append(formats, format)
	}
	slices.Sort(formats)
	for _, format := range formats {
		r := rows[format]
		fmt.Printf("| %s | %d | %d | %d, %d | %s, %s | %d, %d | %d of %d | %s | %d |\n", format, r.sources, r.runnable,
			r.ours.tasks, r.theirs.tasks, number(r.ours.edges), number(r.theirs.edges), r.ours.done, r.theirs.done, r.equal,
			r.counted, percent(r.lines-r.homeless, r.lines), r.run)
	}
	for _, format := range formats {
		for _, text := range rows[format].odd {
			fmt.Printf("\n- %s: %s", format, strings.ReplaceAll(text, "\n", "; "))
		}
	}
	fmt.Println()
}

func number(n int) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}
