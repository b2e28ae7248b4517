package outline

import (
	"strings"
)

var (
	containers = withWords(`(?i)^(?:(?:{tasks: before}) )*(?:{tasks: of what})s?(?:\s*(?:&|and|/` +
		`|与)\s*\w+)?\s*(?:{tasks: behind})?s?$|` +
		`^(?:{tasks: kind})\s*(?:{tasks: plan})s?$|^(?:{tasks: whole})$|` +
		`(?:{tasks: of what, Chinese})(?:{tasks: behind, Chinese})|^(?:{tasks: kind, Chinese})(?:{tasks: plan, Chinese})`)
	skipped = withWords(`(?i)^(?:.*\b)?(?:{aside})$|(?:{aside, Chinese})$`)
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

// decision is what a section is, and of a field which.
type decision struct {
	role role
	key  key
}

// role says what a section is, below a task or not.
func (b *builder) role(s *section, inTask bool) (role, key) {
	if inTask {
		return b.decide(s, true)
	}
	if s.decided == nil {
		r, k := b.decide(s, false)
		s.decided = &decision{r, k}
	}
	return s.decided.role, s.decided.key
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
		case skipped.Get().MatchString(l.title) && !s.tasks:
			return skipRole, ""
		case containers.Get().MatchString(l.title) && !inTask && !(s.signals().status && s.signals().acceptance):
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
	case g.checks > 0 && b.loose, b.fieldsBelow(s):
		return taskRole, ""
	}
	return proseRole, ""
}

// fieldsBelow reports headings below a section that are its status or its acceptance.
func (b *builder) fieldsBelow(s *section) bool {
	for _, sub := range s.subs {
		if r, k := b.role(sub, false); r == fieldRole && (k == keyStatus || k == keyAcceptance) {
			return true
		}
	}
	return false
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
		return s.tasks || g.items && itemsAreTasks(s.blocks)
	}
	if g.items || g.table {
		return true
	}
	if s.below == nil {
		any := b.anyTask(s)
		s.below = &any
	}
	return *s.below
}

func (b *builder) anyTask(s *section) bool {
	for _, sub := range s.subs {
		switch r, _ := b.role(sub, false); r {
		case goalRole, taskRole:
			return true
		case fieldRole, skipRole, partRole:
		default:
			if b.tasksBelow(sub, false) || r == boardRole && sub.signals().lists || r == containerRole &&
				sub.signals().checks > 0 {
				return true
			}
		}
	}
	return false
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
