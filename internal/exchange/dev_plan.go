package exchange

import (
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var (
	devStatus = pattern.Compile(`(?mi)^\s*(?:[-*+]\s+)?[*_]*(?:status|状态)[*_]*\s*[:：][*_\s\x60]*(?:TODO|DOING` +
		`|BLOCKED|DONE|VERIFIED)\b`)
	devField = pattern.Compile(`(?i)^[*_]*(status|状态|acceptance(?: criteria)?|验收(?:标准)?|evidence|证据` +
		`|depends(?: on)?|dependencies|依赖|estimate|估算|effort|deliverables?|files|交付物)` +
		`[*_]*\s*[:：]\s*[*_]*\s*(.*)$`)
	devTask = pattern.Compile(`^[*_]*(?:[A-Z]+[0-9]+(?:[-.][A-Z]?[0-9]+)*|(?i:task|任务)\s*[A-Za-z]?[\d.-]+)` +
		`[*_]*\s*[:：—–-]`)
	devBlock = pattern.Compile(`(?m)^(?:#{1,6} )?[*_]*(?:[A-Z]+-?[0-9]+(?:[-.][A-Z]?[0-9]+)*[*_]*\s*[:：—–-]` +
		`|(?i:task|任务)\s*[A-Za-z]?[\d.-]+)|(?i:^\W*(?:acceptance(?: criteria)?|验收(?:标准)?)[*_]*\s*[:：])`)
	devID = pattern.Compile(`^(?i:milestone|phase|task|stage|里程碑|阶段` +
		`|任务)?\s*#?((?:[A-Za-z]+-?)*[0-9]+(?:[.-][A-Za-z]*-?[0-9]+)*)?\s*[:：.)—–-]*\s*(.*)$`)
	devRef   = pattern.Compile(`(?:[A-Za-z]+-?)*[0-9]+(?:[.-][A-Za-z]*-?[0-9]+)*`)
	devWords = map[string]string{"状态": "status", "验收": "acceptance", "验收标准": "acceptance",
		"acceptance criteria": "acceptance", "depends": "depends on", "dependencies": "depends on",
		"依赖": "depends on", "估算": "estimate", "effort": "estimate", "deliverable": "files",
		"deliverables": "files", "交付物": "files"}
)

// isDevStage reports whether a heading is a stage of the task that it stands below: tests, implementation, review.
func isDevStage(n, above *outline.Node) bool {
	return !n.Item && !devTask.Get().MatchString(n.Text) && !above.Item && devTask.Get().MatchString(above.Text)
}

// isDevPlan wants a task's id or its acceptance besides a status, which reports have, too.
func isDevPlan(_ *reader, _, text string) bool {
	return devStatus.Get().MatchString(text) && devBlock.Get().MatchString(text)
}

// devPlan reads milestones and tasks as development plans have them (seed 4, "Dev Plan"): what has a status is a task,
// with its acceptance as criteria. A command in these is a word like others.
func (r *reader) devPlan(f Found) (*source, *plan.Plan) {
	src := &source{name: f.Name}
	text, ok := r.read(f.Path)
	if !ok {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	above, level := 1, 0
	for i, line := range lines { // a task may be a line of its own in front of its fields
		if text := strings.TrimLeft(line, "#"); text != line && strings.HasPrefix(text, " ") {
			if depth := len(line) - len(text); devTask.Get().MatchString(text[1:]) {
				level = depth
			} else {
				above, level = depth, 0
			}
		}
		next := firstLine(strings.TrimLeft(strings.Join(lines[i+1:min(i+3, len(lines))], "\n"), "\n"))
		if devTask.Get().MatchString(line) && devField.Get().MatchString(strings.TrimLeft(next, " \t-*+")) {
			if level == 0 {
				level = min(above+1, 6)
			}
			lines[i] = strings.Repeat("#", level) + " " + line
		}
	}
	_, whole := outline.Cut(strings.Join(lines, "\n"))
	src.keepLines(f.Path, whole)
	var fieldsOf func(n *outline.Node) map[string]string
	fieldsOf = func(n *outline.Node) map[string]string {
		fields := map[string]string{}
		last := "" // a field without a value: what is listed behind it is meant
		take := func(s string, kid *outline.Node) {
			m := devField.Get().FindStringSubmatch(strings.TrimSpace(s))
			if m == nil && last != "" && kid != nil {
				fields[last] += "\n" + s + "\n" + kid.Below(func(*outline.Node) bool { return false })
			}
			if m == nil {
				return
			}
			word := strings.ToLower(m[1])
			if known := devWords[word]; known != "" {
				word = known
			}
			value := strings.TrimRight(m[2], "*_ ")
			if kid != nil {
				value += "\n" + kid.Below(func(*outline.Node) bool { return false })
			}
			last = ""
			if word == "status" && strings.ContainsAny(value, "/|") { // which words there are
				return
			}
			if _, twice := fields[word]; !twice {
				if fields[word] = strings.TrimSpace(value); fields[word] == "" {
					last = word
				}
			}
		}
		for _, l := range n.Lines {
			take(l.Text, nil)
		}
		for _, kid := range n.Kids {
			if kid.Item {
				take(kid.Text, kid)
			} else if status := fieldsOf(kid)["status"]; status != "" && isDevStage(kid, n) {
				fields["status"] = status // the last one counts
			}
		}
		return fields
	}
	l := &listing{reader: r, src: src, file: f.Path}
	l.isTask = func(n, above *outline.Node) bool {
		_, has := fieldsOf(n)["status"]
		_, accepts := fieldsOf(n)["acceptance"]
		return (has || accepts) && n.Line > 0 && (n.Item || n.Level > 1 || devTask.Get().MatchString(n.Text)) &&
			!devField.Get().MatchString(n.Text) && !isDevStage(n, above)
	}
	l.fill = func(it *item, n *outline.Node) {
		fields := fieldsOf(n)
		it.title = bare(n.Text)
		if m := devID.Get().FindStringSubmatch(it.title); m != nil && m[1] != "" {
			if it.wish = m[1]; m[2] != "" && devTask.Get().MatchString(it.title) {
				it.title = m[2]
			}
			if !hasSource(src, m[1]) {
				it.source = m[1]
			} else {
				it.source = it.parent + " " + m[1]
			}
		}
		it.word, _, _ = strings.Cut(strings.Trim(fields["status"], "*_` "), " ")
		it.criteria = texts(fields["acceptance"])
		it.days = days(fields["estimate"])
		it.files = pathsIn(fields["files"])
		it.deps = each.Add(it.deps, devRef.Get().FindAllString(fields["depends on"], -1)...)
	}
	src.top = l.read(whole, nil)
	for _, goal := range l.order {
		if m := devID.Get().FindStringSubmatch(goal.title); m != nil && m[1] != "" && legalID(m[1]) != "" {
			goal.wish = m[1]
		}
	}
	if h := whole.Heading(); h != nil && h.Level == 1 && !l.isMade(h) && bare(h.Text) != "" {
		src.name = bare(h.Text)
	}
	return src, nil
}
