package main

import (
	"fmt"
	"os"
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

// writePage replaces the rows of the report's benchmark in the table of a page; those of others stay as they are. A row
// is a ratio that has a goal.
func writePage(file string, r report) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := r.intoPage(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o666)
}

const pageHead = "| benchmark | compared | at most | measured |\n| --- | --- | --: | --: |\n"

// intoPage returns the page with the report's rows in its table, in the order of the benchmarks.
func (r report) intoPage(page string) (string, error) {
	before, rest, found := strings.Cut(page, pageHead)
	if !found {
		return "", fmt.Errorf("no table begins with %q", pageHead)
	}
	name, _, _ := strings.Cut(r.title, ": ")
	rows := map[string][]string{}
	for {
		line, after, _ := strings.Cut(rest, "\n")
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 {
			break
		}
		of := strings.TrimPrefix(cells[0], "| ")
		rows[of], rest = append(rows[of], line), after
	}
	rows[name] = nil
	for _, q := range r.ratios {
		if q.goal > 0 && !q.absent {
			missed := ""
			if !q.met() {
				missed = ", missed"
			}
			rows[name] = append(rows[name], fmt.Sprintf("| %s | %s | %.2f | %.2f%s |", name, q.what, q.goal, q.wall, missed))
		}
	}
	var table strings.Builder
	for _, b := range benchmarks {
		for _, row := range rows[b.name] {
			table.WriteString(row + "\n")
		}
	}
	return before + pageHead + table.String() + rest, nil
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
