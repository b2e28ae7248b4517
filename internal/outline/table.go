package outline

import (
	"cmp"
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// columns says which column of a table holds what; -1 is none.
type columns struct {
	of    map[key]int
	title int
}

// titles is the order in which columns are taken for the title of a task, if no column is called that.
var titles = []key{keyTitle, keyDescription, keyDeliverable, keySteps, keyGroup, keyFiles}

func columnsOf(rows [][]cell) columns {
	header := rows[0]
	c := columns{of: map[key]int{}, title: -1}
	for i, h := range header {
		k := lookup(h.text)
		if k != "" && !c.has(k) {
			c.of[k] = i
		}
	}
	if !c.has(keyStatus) {
		if i := statesOnly(rows); i >= 0 {
			c.of[keyStatus] = i
		}
	}
	if g, ok := c.of[keyGroup]; ok && !c.has(keyTitle) && !c.has(keyID) && c.has(keyDescription) {
		c.of[keyID] = g // without a task beside it, the milestone is what the row is about
		delete(c.of, keyGroup)
	}
	for _, k := range titles {
		if i, ok := c.of[k]; ok {
			c.title = i
			break
		}
	}
	if c.title < 0 && (c.has(keyStatus) || c.has(keyAcceptance)) && (len(header) > 2 || lookup(header[0].text) == "") {
		c.title = slices.IndexFunc(header, func(h cell) bool { return plainText(h.text) != "" && lookup(h.text) == "" })
		if c.title >= 0 && !c.has(keyID) {
			c.of[keyTitle] = c.title
		}
	}
	return c
}

// statesOnly is the column under a header that says nothing whose cells all say a status, -1 if there is none. Symbols
// do; a word does only if it is the whole cell.
func statesOnly(rows [][]cell) int {
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

// table reads a table that stands for itself: rows are tasks, or fields or criteria of the task that it stands in.
func (b *builder) table(bl *block, n *node, m mode) {
	c := columnsOf(bl.rows)
	switch {
	case m != inDoc && !(m == inGoal && c.tasks()) && pairs(bl.rows):
		b.pairs(bl.rows, n)
	case m == inTask && (c.has(keyCommand) || !c.has(keyStatus) && (c.has(keyAcceptance) || c.has(keyVerify))):
		b.criteriaRows(bl, n, c)
	case c.tasks() && (m != inTask || c.has(keyID) || c.has(keyTitle)):
		b.rows(bl, n, c)
	}
}

// pairs reports a table of two columns with keys in the first: the fields of one task.
func pairs(rows [][]cell) bool {
	known := 0
	if len(rows[0]) != 2 {
		return false
	}
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

// total begins the row that sums up a table.
var total = pattern.Compile(`^(?i:total|sum|总计|合计|小计)$`)

// rows makes a task of each row.
func (b *builder) rows(bl *block, parent *node, c columns) {
	b.took(bl.rows[0]...)
	group := "" // an empty cell goes on with the milestone above
	for _, row := range bl.rows[1:] {
		if all := prose(joinLines(row)); len(row) > 1 && readLabel(all).kind == goalWord && all == prose(row[0].text) {
			group = plainText(all) // a row that is a heading over the rows below it
			b.took(row...)
			continue
		}
		name := cell{no: row[0].no}
		if c.title >= 0 && c.title < len(row) {
			name = row[c.title]
		}
		l := c.label(row, name)
		if l.title == "" || total.Get().MatchString(plainText(cmp.Or(row[0].text, name.text))) ||
			placehold.Get().MatchString(strings.TrimSpace(name.text)) {
			continue
		}
		n := b.add(parent, fromRow, l, row[0].no)
		b.titleCriteria(n, line{name.text, row[0].no}, name.text)
		for i, v := range row[:min(len(row), len(bl.rows[0]))] {
			h := bl.rows[0][i].text
			switch k := c.key(i); {
			case i == c.title || k == keyID || prose(v.text) == "":
			case k == keyGroup:
				group = plainText(v.text)
			case k != "":
				b.cellValue(n, k, v)
			case !isNothing(v.text) && plainText(h) != "":
				b.describe(n, plainText(h)+": "+v.text)
			}
		}
		n.group = group
	}
}

// key is the field that a column has been read as.
func (c columns) key(i int) key {
	for k, at := range c.of {
		if at == i && k != keyOther && k != keyTitle {
			return k
		}
	}
	return ""
}

// label is what a row says of its task, by its id and its name.
func (c columns) label(row []cell, name cell) label {
	l := readLabel(name.text)
	id, ok := c.cell(row, keyID)
	if first := readLabel(row[0].text); !ok && c.title != 0 && first.strong && !numeric(first.id) {
		id, ok = row[0], true
	}
	if !ok || l.id != "" && !c.has(keyID) {
		return l
	}
	of := readLabel(id.text)
	if of.id == "" && !idCell.Get().MatchString(plainText(id.text)) {
		return of // the column that should hold ids holds names
	}
	l.strong, l.kind = of.strong, max(l.kind, of.kind)
	if l.id = of.id; l.id == "" || dottedNumber.Get().MatchString(plainText(id.text)) {
		l.id = clean(plainText(id.text))
		l.strong = of.strong || dottedNumber.Get().MatchString(l.id)
	}
	if plainText(name.text) == "" {
		l.title = of.title
	}
	return l
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
