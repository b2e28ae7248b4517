package outline

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// columns says which column of a table holds what; -1 is none.
type columns struct {
	of    map[key]int
	title int
	width int
}

// titles is the order in which columns are taken for the title of a task, if no column is called that.
var titles = []key{keyTitle, keyDescription, keyDeliverable, keySteps, keyGroup, keyFiles}

func columnsOf(rows [][]cell) columns {
	header := rows[0]
	c := columns{of: map[key]int{}, title: -1, width: len(header)}
	for i, h := range header {
		k := lookup(h.text)
		if limits.Get().MatchString(plainText(h.text)) && besides(header, i, keyAcceptance, keyVerify, keyCommand) {
			k = keyExpect // "验收阈值" beside "验收命令"
		}
		if k == "" {
			continue
		}
		if !c.has(k) {
			c.of[k] = i
		}
	}
	if !c.has(keyStatus) {
		if i := statesOnly(rows, c); i >= 0 {
			c.of[keyStatus] = i
		}
	}
	if g, ok := c.of[keyGroup]; ok && !c.has(keyTitle) {
		// Without a task beside it, the milestone is what the row is about.
		if !c.has(keyID) && (c.has(keyDescription) || c.has(keyDeliverable)) {
			c.of[keyID] = g
			delete(c.of, keyGroup)
		}
	}
	for _, k := range titles {
		if i, ok := c.of[k]; ok {
			c.title = i
			break
		}
	}
	if c.title < 0 && (c.has(keyStatus) || c.has(keyAcceptance)) && (c.width > 2 || lookup(header[0].text) == "") {
		c.title = slices.IndexFunc(header, func(h cell) bool { return plainText(h.text) != "" && lookup(h.text) == "" })
		if c.title >= 0 && !c.has(keyID) {
			c.of[keyTitle] = c.title
		}
	}
	return c
}

// limits are headers of columns that say what has to come of the commands in another one.
var limits = pattern.Compile(`(?i)阈值|threshold|^(?:pass(?:es)?|passed|ok) (?:if|when)$`)

// besides reports that another column than i is for one of the keys.
func besides(header []cell, i int, keys ...key) bool {
	for j, h := range header {
		if j != i && slices.Contains(keys, lookup(h.text)) && !limits.Get().MatchString(plainText(h.text)) {
			return true
		}
	}
	return false
}

// statesOnly is the column under a header that says nothing whose cells all say a status, -1 if there is none. Symbols
// do; a word does only if it is the whole cell.
func statesOnly(rows [][]cell, c columns) int {
	for i, h := range rows[0] {
		if lookup(h.text) != "" || len(rows) < 2 {
			continue
		}
		all := 0
		for _, row := range rows[1:] {
			switch {
			case i >= len(row) || plainText(row[i].text) == "":
			case statusAlone(row[i].text):
				all++
			default:
				all = -len(rows)
			}
		}
		if all > 0 {
			return i
		}
	}
	return -1
}

var dottedNumber = pattern.Compile(`^\d+(?:\.\d+)+$`)

var idCell = pattern.Compile(`^[\p{L}\p{N}._/-]{1,16}$`)

func (c columns) has(k key) bool { _, ok := c.of[k]; return ok }

// uses reports a column that has been read as the field that it is for.
func (c columns) uses(i int) bool {
	for k, at := range c.of {
		if at == i && k != keyOther {
			return true
		}
	}
	return false
}

// tasks reports a table whose rows are tasks: something names them, and there is a status or an acceptance.
func (c columns) tasks() bool {
	named := c.has(keyTitle) || c.has(keyID) || c.has(keyGroup) || c.title >= 0 && c.has(keyStatus)
	return named && (c.has(keyStatus) || c.has(keyAcceptance) && (c.has(keyTitle) || c.has(keyID)))
}

func (c columns) cell(row []cell, k key) (cell, bool) {
	i, ok := c.of[k]
	if !ok || i >= len(row) || prose(row[i].text) == "" {
		return cell{}, false
	}
	return row[i], true
}

// table reads a table that stands for itself: rows are tasks, or fields of the task that it stands in.
func (b *builder) table(bl *block, n *node, m mode) {
	c := columnsOf(bl.rows)
	if m == inTask {
		switch {
		case len(bl.rows[0]) == 2 && pairs(bl.rows):
			b.pairs(bl.rows, n)
		case c.has(keyCommand), c.has(keyAcceptance) && !c.has(keyStatus), c.has(keyVerify) && !c.has(keyStatus):
			b.criteriaRows(bl, n, c)
		case c.tasks() && c.has(keyStatus) && (c.has(keyID) || c.has(keyTitle)):
			b.rows(bl, n, c)
		}
		return
	}
	if c.tasks() {
		b.rows(bl, n, c)
		return
	}
	if m == inGoal && len(bl.rows[0]) == 2 && pairs(bl.rows) {
		b.pairs(bl.rows, n)
	}
}

// pairs reports a table of two columns with keys in the first: the fields of one task.
func pairs(rows [][]cell) bool {
	known := 0
	for _, r := range rows {
		if k := lookup(r[0].text); k != "" && k != keyTitle {
			known++
		}
	}
	return known >= 2
}

func (b *builder) pairs(rows [][]cell, n *node) {
	b.took(rows[0]...)
	for _, r := range rows {
		if len(r) < 2 {
			continue
		}
		if k := lookup(r[0].text); k != "" && k != keyTitle && k != keyGroup {
			v := r[1]
			if k == keyOther {
				v.text = plainText(r[0].text) + ": " + v.text
			}
			b.cellValue(n, k, v)
		}
	}
}

// cellValue takes a cell in; a break in it begins a new line.
func (b *builder) cellValue(n *node, k key, c cell) {
	n.hasField = true
	b.took(c)
	for _, l := range breakTag.Get().Split(c.text, -1) {
		l = strings.TrimSpace(l)
		b.value(n, k, []line{{l, c.no}}, 0)
	}
}

// rows makes a task of each row.
func (b *builder) rows(bl *block, parent *node, c columns) {
	group := "" // an empty cell goes on with the milestone above
	b.took(bl.rows[0]...)
	for _, row := range bl.rows[1:] {
		if over, ok := groupRow(row); ok {
			group = over
			b.took(row...)
			continue
		}
		name := cell{no: row[0].no}
		if c.title >= 0 && c.title < len(row) {
			name = row[c.title]
		}
		l := c.label(row, name)
		if l.title == "" || isTotal(row) || placehold.Get().MatchString(strings.TrimSpace(name.text)) {
			continue
		}
		n := b.add(parent, fromRow, l, row[0].no)
		b.titleCriteria(n, line{name.text, row[0].no}, name.text)
		for _, k := range []key{keyStatus, keyAcceptance, keyVerify, keyCommand, keyExpect, keyEvidence, keyDepends,
			keyEstimate, keyDeliverable, keyFiles, keyCovers, keyRequire, keyDescription, keySteps} {
			if v, ok := c.cell(row, k); ok && c.of[k] != c.title {
				b.cellValue(n, k, v)
			}
		}
		if c.has(keyGroup) && c.of[keyGroup] != c.title {
			if g, ok := c.cell(row, keyGroup); ok && strings.Trim(plainText(g.text), `"″〃-—同上 `) != "" {
				group = plainText(g.text)
			}
		}
		n.group = group
		b.otherCells(n, bl.rows[0], row, c)
	}
}

// label is what a row says of its task, by its id and its name.
func (c columns) label(row []cell, name cell) label {
	l := readLabel(name.text)
	if id, ok := c.cell(row, keyID); ok {
		of := readLabel(id.text)
		if of.id == "" && !idCell.Get().MatchString(plainText(id.text)) {
			l = of // the column that should hold ids holds names
		} else {
			l.id = clean(plainText(id.text))
			l.strong = of.strong || dottedNumber.Get().MatchString(l.id)
		}
		if of.id != "" && !dottedNumber.Get().MatchString(l.id) {
			l.id, l.kind = of.id, max(l.kind, of.kind)
		}
		if of.status.State != "" && l.status.State == "" {
			l.status = of.status
		}
		if plainText(name.text) == "" {
			l.title = of.title
		}
	}
	if first := readLabel(row[0].text); l.id == "" && l.kind == noWord && c.title != 0 && first.strong && !numeric(first.id) {
		l.id, l.strong, l.kind = first.id, true, first.kind
	}
	return l
}

// groupRow reports a row that is a heading over the rows below it: the name of a milestone, and nothing else.
func groupRow(row []cell) (string, bool) {
	name := ""
	for _, c := range row {
		if t := plainText(c.text); t != "" && name != "" {
			return "", false
		} else if t != "" {
			name = t
		}
	}
	return name, len(row) > 1 && readLabel(name).kind == goalWord
}

// otherCells keeps what stands in columns that the plan has no use for, under the name of the column.
func (b *builder) otherCells(n *node, header, row []cell, c columns) {
	for i, h := range header {
		if i >= len(row) || i == c.title || c.uses(i) || prose(row[i].text) == "" || isNothing(row[i].text) ||
			plainText(h.text) == "" {
			continue
		}
		switch k := lookup(h.text); k {
		case keyAcceptance, keyVerify, keyCommand, keyEvidence, keyDepends: // a second column for one thing
			b.cellValue(n, k, row[i])
		default:
			b.describe(n, plainText(h.text)+": "+row[i].text)
		}
	}
}

// isTotal reports the row that sums up a table.
func isTotal(row []cell) bool {
	for i, c := range row[:min(2, len(row))] {
		if i > 0 && prose(row[0].text) != "" {
			return false
		}
		switch strings.ToLower(plainText(c.text)) {
		case "total", "总计", "合计", "sum", "小计", "...", "…":
			return true
		}
	}
	return false
}

// criteriaRows makes a criterion of each row, with its command and expectation from their columns.
func (b *builder) criteriaRows(bl *block, n *node, c columns) {
	b.took(bl.rows[0]...)
	for _, row := range bl.rows[1:] {
		var all []string
		for _, cl := range row {
			if t := prose(cl.text); t != "" {
				all = append(all, t)
			}
		}
		if len(all) == 0 {
			continue
		}
		b.took(row...)
		crit := Criterion{Text: short(strings.Join(all, " | "), 2000), Line: row[0].no}
		from, sure := row, false
		if v, ok := c.cell(row, keyCommand); ok {
			from, sure = []cell{v}, true
		}
		for _, cl := range from {
			found := commandsIn(spans(cl.text), sure)
			if f, ok := bareCommand(cl.text, true); ok && sure && len(found) == 0 {
				found = []foundCommand{f}
			}
			if len(found) > 0 && crit.Command == "" {
				crit.Command, crit.Expect = found[0].command, found[0].expect
			}
		}
		if v, ok := c.cell(row, keyExpect); ok && crit.Command != "" && crit.Expect == "" {
			crit.Expect = prose(v.text)
		}
		b.criterion(n, crit, 0)
	}
}

// tableValue reads a table that is the value of a field.
func (b *builder) tableValue(n *node, k key, bl *block) {
	c := columnsOf(bl.rows)
	if k == keyAcceptance || k == keyVerify || k == keyCommand {
		b.criteriaRows(bl, n, c)
		return
	}
	b.took(bl.rows[0]...)
	for _, row := range bl.rows[1:] {
		var all []string
		for _, cl := range row {
			all = append(all, cl.text)
		}
		b.value(n, k, []line{{strings.Join(all, " | "), row[0].no}}, 0)
	}
}
