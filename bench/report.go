package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the result of one benchmark.
type report struct {
	title  string
	rows   []*contestant
	ratios []ratio
	curves []curve // how the times grow; only one benchmark has curves
}

// String formats the report for a terminal: two tables with equal column widths.
func (r report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, table := range [][][]string{r.times(), r.quotients()} {
		for _, row := range table {
			last := len(row) - 1
			fmt.Fprintf(w, "%s\t  %s\n", strings.Join(row[:last], "\t"), row[last])
		}
	}
	w.Flush()
	return b.String()
}

// Markdown formats the report as in README.md.
func (r report) Markdown() string {
	var b strings.Builder
	name, text, _ := strings.Cut(r.title, ": ")
	fmt.Fprintf(&b, "**%s**: %s\n", name, text)
	for _, table := range [][][]string{r.times(), r.quotients()} {
		columns := len(table[0])
		table = slices.Insert(slices.Clone(table), 1, append(slices.Repeat([]string{"--:"}, columns-1), ":--"))
		b.WriteString("\n")
		for _, row := range table {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.String()
}

// times returns the rows of the first table, with its head. A column shows what was added if anything has a baseline.
func (r report) times() [][]string {
	adds := slices.ContainsFunc(r.rows, func(c *contestant) bool { return c.over != nil })
	line := func(added string, others ...string) []string {
		if adds {
			return slices.Insert(others, 1, added)
		}
		return others
	}
	table := [][]string{line("added", "time", "fastest", "user+sys", "memory", "")}
	for _, c := range r.rows {
		if c.absent {
			table = append(table, line("-", "-", "-", "-", "-", c.name+": not installed"))
			continue
		}
		added := ""
		if c.over != nil {
			added = short(median(c.added().wall))
		}
		table = append(table, line(added, short(median(c.wall)), short(slices.Min(c.wall)), short(median(c.cpu)),
			megabytes(c.memory), c.name))
	}
	return table
}

// quotients returns the rows of the second table, with its head.
func (r report) quotients() [][]string {
	table := [][]string{{"ratio", "goal", "user+sys", ""}}
	for _, q := range r.ratios {
		goal, verdict := "", ""
		if q.goal > 0 {
			sign := "<="
			if q.strict {
				sign = "<"
			}
			goal, verdict = fmt.Sprintf("%s %.2f", sign, q.goal), ": met"
			if !q.met() {
				verdict = ": MISSED"
			}
		}
		if q.absent {
			table = append(table, []string{"-", goal, "-", q.what + ": not measured"})
			continue
		}
		cpu := "" // only if both are times
		if q.cpu > 0 {
			cpu = fmt.Sprintf("%.2f", q.cpu)
		}
		table = append(table, []string{fmt.Sprintf("%.2f", q.wall), goal, cpu, q.what + verdict})
	}
	return table
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// short formats a duration with about three digits.
func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
