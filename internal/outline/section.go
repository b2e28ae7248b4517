package outline

import (
	"regexp"
	"strings"
)

// section is a heading with what stands below it.
type section struct {
	head   *block // nil for the whole document
	label  label
	text   string // of the heading, plain
	level  int
	blocks []*block
	subs   []*section
	sig    *signals
	memo   *decided
}

// decided is what was found out about a section that stands in no task; headings are looked at from above many times.
type decided struct {
	role                                   role
	key                                    key
	known                                  bool
	below, strict, belowKnown, strictKnown bool
}

const (
	pseudoGoal = 7 // levels of headings that are only bold
	pseudoTask = 8
)

func sectionsOf(blocks []*block) *section {
	root := &section{}
	open := []*section{root}
	enter := func(level int, head *block, text string) {
		for len(open) > 1 && open[len(open)-1].level >= level {
			open = open[:len(open)-1]
		}
		s := &section{head: head, level: level, label: readLabel(text), text: plainText(closingATX.ReplaceAllString(text, ""))}
		above := open[len(open)-1]
		above.subs = append(above.subs, s)
		open = append(open, s)
	}
	for _, b := range blocks {
		switch b.kind {
		case headingBlock:
			enter(b.level, b, b.lines[0].text)
			continue
		case paraBlock:
			if level, ok := pseudo(b.lines[0].text); ok {
				text, rest := title(b.lines[0])
				enter(level, b, text)
				if more := append(rest, b.lines[1:]...); len(more) > 0 {
					last := open[len(open)-1]
					last.blocks = append(last.blocks, &block{kind: paraBlock, lines: more, no: more[0].no})
				}
				continue
			}
		}
		last := open[len(open)-1]
		last.blocks = append(last.blocks, b)
	}
	return root
}

// pseudo reports that a paragraph does the work of a heading: "**Task 1.1**: Parse", "Milestone 2: Release".
func pseudo(s string) (int, bool) {
	s = strings.TrimSpace(s)
	bold := strings.HasPrefix(s, "**") || strings.HasPrefix(s, "__")
	if _, _, ok := splitField(s); ok {
		return 0, false
	}
	l := readLabel(s)
	switch {
	case l.id == "" || !l.strong:
		return 0, false
	case l.kind == goalWord && (bold || strings.ContainsAny(s, ":：") && len(s) < 120):
		return pseudoGoal, true
	case l.kind == taskWord && (bold || strings.ContainsAny(s, ":：") && len(s) < 120), l.kind == noWord && bold && l.title != "":
		return pseudoTask, true
	}
	return 0, false
}

// title cuts the title off a line: fields may follow it behind a dash, a bar or a full stop.
func title(l line) (string, []line) {
	if len(l.text) > maxLine {
		return l.text, nil
	}
	at := inlineKey.FindAllStringIndex(l.text, -1)
	for _, m := range at {
		if strings.Count(l.text[:m[0]], "`")%2 == 1 || strings.TrimSpace(plainText(l.text[:m[0]])) == "" {
			continue
		}
		rest := strings.TrimLeft(l.text[m[0]:], " .。；;，,|·—–-")
		if k, _, ok := splitField(rest); ok && k != keyTitle {
			return strings.TrimRight(l.text[:m[0]], " |·"), []line{{rest, l.no}}
		}
	}
	return l.text, nil
}

var inlineKey = regexp.MustCompile(`(?i)(?:[。；;|·]|\.\s|\s[—–-]+|\s[（(]|，)\s*\**(?:acceptance(?: criteria)?|acceptance command|accept|verify|verification|status|evidence|done when|depends on|dependencies|deps|estimate|effort|owner|files?|deliverable|priority|requirements|验收(?:标准|命令|条件|方式)?|状态|证据|验证(?:方式|命令)?|预估|预计|估算|工时|依赖|前置|交付物|产出|负责人|优先级)(?:\*\*)?\s*[:：]|\s\*\*[^*]{2,40}?(?:[:：]\*\*|\*\*\s*[:：])|\s(?:Acceptance|Status|Evidence|Verify|验收|验收标准|状态|证据)\s*[:：]`)

// signals are what a section's own blocks hold.
type signals struct {
	status, acceptance, fields bool
	items                      bool // items that are tasks whatever stands around them
	table                      bool // a table of tasks
	checks                     int  // items with a checkbox that are no fields and no commands
	lists                      bool
}

func (s *section) signals() *signals {
	if s.sig == nil {
		s.sig = &signals{}
		s.sig.scan(s.blocks)
	}
	return s.sig
}

func (g *signals) note(k key) {
	g.fields = true
	g.status = g.status || k == keyStatus
	g.acceptance = g.acceptance || k == keyAcceptance
}

func (g *signals) scan(blocks []*block) {
	for _, b := range blocks {
		switch b.kind {
		case paraBlock:
			for _, p := range fieldsIn(b.lines) {
				if p.key != "" {
					g.note(p.key)
				}
			}
		case listBlock:
			g.lists = true
			for _, it := range b.items {
				g.item(it)
			}
		case tableBlock:
			c := columnsOf(b.rows[0])
			g.table = g.table || c.tasks()
			if len(b.rows[0]) == 2 && !c.tasks() {
				for _, r := range b.rows {
					if k := lookup(r[0].text); k == keyStatus || k == keyAcceptance {
						g.note(k)
					}
				}
			}
		}
	}
}

func (g *signals) item(it *item) {
	if explicitItem(it) {
		g.items = true
		return
	}
	for _, p := range fieldsIn(it.lines) {
		if p.key != "" && it.check == 0 {
			g.note(p.key)
			return
		}
	}
	if it.check != 0 && !commandFirst(it) {
		g.checks++
	}
}

// explicitItem reports an item that is a task by itself: it has an id of its own and a box, or fields of a task.
func explicitItem(it *item) bool {
	own := ownFields(it)
	if k, v, ok := splitField(it.lines[0].text); ok && k != "" {
		return k == keyTitle && v != "" && (own.status || own.acceptance)
	}
	l := readLabel(it.lines[0].text)
	named := l.strong && (l.kind != noWord || l.id != "")
	switch {
	case own.status && (own.acceptance || it.check != 0 || named || boldStart(it)):
		return true
	case own.acceptance && (it.check != 0 || named || boldStart(it)):
		return true
	case it.check != 0 && (named || it.number != "" && strings.Contains(it.number, ".")):
		return true
	case it.check != 0 && (own.fields || l.days > 0):
		return true
	}
	return named && l.kind == taskWord && boldStart(it) || named && boldStart(it) && own.fields
}

func boldStart(it *item) bool {
	s := strings.TrimSpace(it.lines[0].text)
	return strings.HasPrefix(s, "**") || strings.HasPrefix(s, "__")
}

// ownFields are the fields that stand directly in an item: on its lines, or in the list below it.
func ownFields(it *item) *signals {
	g := &signals{}
	_, rest := title(it.lines[0])
	for _, p := range fieldsIn(append(rest, it.lines[1:]...)) {
		if p.key != "" {
			g.note(p.key)
		}
	}
	for _, b := range it.kids {
		switch b.kind {
		case paraBlock:
			for _, p := range fieldsIn(b.lines) {
				if p.key != "" {
					g.note(p.key)
				}
			}
		case listBlock:
			for _, kid := range b.items {
				if k, _, ok := splitField(kid.lines[0].text); ok && kid.check == 0 && k != keyOther && k != keyDescription && k != keyTitle {
					g.note(k)
				}
			}
		}
	}
	return g
}

// commandFirst reports an item that begins with a command: a criterion, wherever it stands.
func commandFirst(it *item) bool {
	parts := spans(strings.TrimSpace(it.lines[0].text))
	if len(parts) == 0 || !parts[0].code {
		return false
	}
	found := commandsIn(parts[:min(len(parts), 3)], false)
	return len(found) > 0 && found[0].command == strings.TrimSpace(prompt.ReplaceAllString(parts[0].text, "")) || len(found) > 0 && strings.HasPrefix(parts[0].text, found[0].command)
}

var (
	containers = regexp.MustCompile(`(?i)^(?:the |all |my |current |active |open |remaining |detailed |implementation |project |development )*(?:task|milestone|phase|todo|to-do|slice|work item|work unit|step|story|user storie|roadpoint|sprint|epic|checkpoint|ticket|issue|feature|item|deliverable)s?(?:\s*(?:&|and|/|与)\s*\w+)?\s*(?:list|breakdown|plan|board|queue|overview|statu|status|chain|tracker|item|table|detail|summary|registry|index|decomposition|inventory)?s?$|^(?:implementation|execution|development|delivery|dev|work|project|action|master)\s*(?:plan|breakdown|roadmap|checklist|queue|list|order)s?$|^(?:roadmap|backlog|checklist|work breakdown|wbs|plan|planning|schedule|progress|work|schedule & progress)$|(?:任务|里程碑|阶段|工作|待办)(?:清单|列表|分解|拆解|看板|总览|规划|明细|计划|概览|安排|划分|拆分|状态|定义|一览|详情|表)|^(?:开发|实施|执行|项目|工作|迭代)(?:计划|路线|步骤|任务|清单)|^(?:路线图|待办|待办事项|计划|总体计划|里程碑与任务|任务与里程碑|里程碑|任务|阶段)$`)
	skipped    = regexp.MustCompile(`(?i)^(?:.*\b)?(?:legend|conventions?|notation|template|templates|example|examples|format|how to use.*|usage|rules?|change ?log|revision history|decision log|decisions?|open questions?|glossary|appendix|references?|table of contents|toc|lessons learned|retrospective|risks?(?: .*)?|out of scope|non-goals?)$|(?:图例|状态说明|状态标记|格式说明|模板|示例|说明规则|使用规则|使用说明|更新日志|变更记录|修订记录|术语表|附录|参考资料|目录|风险|非目标|风险与缓解|约束（强制）|决策记录|决策日志)$`)
)

type role int

const (
	proseRole role = iota
	skipRole
	fieldRole
	containerRole
	boardRole // a column of a board: the heading is a status
	goalRole
	taskRole
	partRole // of the task around it
)

// explicit reports a heading that names a task or a goal itself.
func (s *section) explicit() bool {
	return s.label.id != "" && s.label.strong && (s.label.kind != noWord || !numeric(s.label.id))
}

func numeric(id string) bool { return strings.Trim(id, "0123456789.") == "" }

// role says what a section is, below a task or not.
func (b *builder) role(s *section, inTask bool) (role, key) {
	if inTask {
		return b.decide(s, true)
	}
	if m := s.remembered(); !m.known {
		m.role, m.key = b.decide(s, false)
		m.known = true
	}
	return s.memo.role, s.memo.key
}

func (s *section) remembered() *decided {
	if s.memo == nil {
		s.memo = &decided{}
	}
	return s.memo
}

func (b *builder) decide(s *section, inTask bool) (role, key) {
	l := s.label
	var k key
	if l.kind == noWord && (!l.strong || numeric(l.id)) {
		if k = lookup(s.text); k == "" {
			k = lookup(l.title)
		}
	}
	if k == keyID || l.days > 0 || b.isTopic(s, k, inTask) {
		k = ""
	}
	switch {
	case k == keyTitle || k == keyGroup:
		if !inTask {
			return containerRole, ""
		}
	case k != "" && !b.tasksBelow(s, true):
		return fieldRole, k
	case k != "":
		return containerRole, ""
	}
	if !s.explicit() {
		switch {
		case statusAlone(s.text) && !inTask && l.days == 0:
			return boardRole, ""
		case skipped.MatchString(l.title) && !b.strictTasksBelow(s):
			return skipRole, ""
		case containers.MatchString(l.title) && !inTask && !(s.signals().status && s.signals().acceptance):
			return containerRole, ""
		}
	}
	if inTask {
		if s.explicit() && l.kind != goalWord {
			return taskRole, ""
		}
		return partRole, ""
	}
	g := s.signals()
	switch {
	case b.tasksBelow(s, s.explicit() && l.kind != goalWord):
		return goalRole, ""
	case l.kind == goalWord && l.id != "" && g.checks > 0 && l.days == 0:
		return goalRole, ""
	case s.explicit(), l.kind != noWord && l.id != "":
		return taskRole, ""
	case g.status && (g.acceptance || g.fields && b.loose || g.checks > 0 || l.id != ""), g.acceptance, l.days > 0:
		return taskRole, ""
	case l.status.State != "" && g.lists && (l.id != "" || b.loose):
		return taskRole, ""
	case g.checks > 0 && b.loose:
		return taskRole, ""
	}
	return proseRole, ""
}

// isTopic reports a heading that has the name of a field but is about something that is to be done: "Tests" above a
// checklist, "Implementation" above numbered tasks.
func (b *builder) isTopic(s *section, k key, inTask bool) bool {
	switch g := s.signals(); k {
	case keyVerify, keyEvidence, keyDeliverable, keyFiles, keySteps, keyOther, keyExpect, keyCommand, keyDescription:
		if g.status || g.acceptance {
			return true
		}
		return !inTask && k != keyDescription && (g.items || g.table || b.loose && g.checks > 0)
	}
	return false
}

// tasksBelow reports tasks in a section: headings that are tasks, items with ids or fields, a table of tasks. With
// strict only those count that say so themselves.
func (b *builder) tasksBelow(s *section, strict bool) bool {
	g := s.signals()
	if strict {
		if b.strictTasksBelow(s) {
			return true
		}
		return g.items && itemsAreTasks(s.blocks)
	}
	if g.items || g.table {
		return true
	}
	m := s.remembered()
	if !m.belowKnown {
		m.below, m.belowKnown = b.anyTask(s), true
	}
	return m.below
}

func (b *builder) anyTask(s *section) bool {
	for _, sub := range s.subs {
		switch r, _ := b.role(sub, false); r {
		case goalRole, taskRole:
			return true
		case containerRole, proseRole, boardRole:
			if b.tasksBelow(sub, false) || r == boardRole && sub.signals().lists || r == containerRole && sub.signals().checks > 0 {
				return true
			}
		}
	}
	return false
}

func (b *builder) strictTasksBelow(s *section) bool {
	m := s.remembered()
	if !m.strictKnown {
		m.strictKnown = true
		for _, sub := range s.subs {
			m.strict = m.strict || sub.explicit() || b.strictTasksBelow(sub)
		}
	}
	return m.strict
}

// itemsAreTasks reports items that have a status or acceptance of their own: an id alone does not make a subtask.
func itemsAreTasks(blocks []*block) bool {
	for _, bl := range blocks {
		if bl.kind != listBlock {
			continue
		}
		for _, it := range bl.items {
			own := ownFields(it)
			if explicitItem(it) && (own.status || own.acceptance) {
				return true
			}
		}
	}
	return false
}
