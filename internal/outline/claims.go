package outline

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// compare refuses two mentions of one task that claim different statuses.
func (b *builder) compare(main, other *node) {
	own, its := main.claims(), other.claims()
	if len(own) == 0 || len(its) == 0 || norm(main.label.title) != norm(other.label.title) && other.kind == fromHeading {
		return
	}
	first, second := own[0], its[0]
	if second.Line < first.Line {
		first, second = second, first
	}
	b.agree(first, second)
}

// agree refuses two claims that can't both be true.
func (b *builder) agree(first, second Status) bool {
	if first.sameAs(second) {
		return true
	}
	b.find("contradicting-status", second.Line, "the task has two statuses", "one status",
		fmt.Sprintf("%s on line %d, %s on line %d", first.Word, first.Line, second.Word, second.Line), "")
	return false
}

// checkStatus refuses a status that is none, and two that contradict each other.
func (b *builder) checkStatus(n *node) {
	if bad := n.badStatus; bad != nil && !(len(n.kids) > 0 && progress.Get().MatchString(bad.text)) {
		b.find("unknown-status", bad.no, "is not a status: "+strconv.Quote(bad.text), allowedStatuses, bad.text,
			"status: TODO")
	}
	claims := n.claims()
	for _, c := range claims[min(1, len(claims)):] {
		if !b.agree(claims[0], c) {
			return
		}
	}
}

const allowedStatuses = "one of TODO, DOING, BLOCKED, DONE, VERIFIED, or a word for one of them " +
	"(not started, in progress, completed; 未开始, 进行中, 阻塞, 已完成, 已验收)"

// claims are all that the source says of the status of n. An empty box beside a status says nothing.
func (n *node) claims() []Status {
	var out []Status
	if s := n.label.status; s.State != "" && !(len(n.statuses) > 0 && s.Word == "[ ]" && n.statuses[0].State != Done) {
		out = append(out, s)
	}
	if s := n.byDefault; s.State != "" && len(n.statuses) > 0 {
		out = append(out, s)
	}
	return append(out, n.statuses...)
}

// sameAs reports two claims that can both be true: those of two stages can, DONE and VERIFIED can't, but a mark can
// stand for either.
func (s Status) sameAs(other Status) bool {
	verified := func(of Status) bool {
		w := strings.ToLower(of.Word)
		return strings.Contains(w, "verified") || strings.Contains(w, "已验证") || strings.Contains(w, "已验收")
	}
	if s.part != other.part || s.loose() || other.loose() {
		return true
	}
	marks := !hasLetter(s.Word) || !hasLetter(other.Word) || s.isBox() || other.isBox()
	return s.State == other.State && (marks || verified(s) == verified(other))
}

// loose reports a mark that goes with more than one state.
func (s Status) loose() bool {
	r, size := utf8.DecodeRuneInString(s.Word)
	return size == len(s.Word) && words().loose[r]
}

func (s Status) isBox() bool { return checkText.Get().MatchString(s.Word) }

func (n *node) status() Status {
	switch {
	case len(n.statuses) > 0:
		return together(n.statuses)
	case n.label.status.State != "" && !(n.byDefault.State != "" && n.label.status.State == Todo &&
		strings.HasPrefix(n.label.status.Word, "[")):
		return n.label.status
	case n.byDefault.State != "":
		return n.byDefault
	case n.badStatus != nil && len(n.kids) > 0:
		s := together(n.belowStatuses())
		return Status{State: s.State, Word: n.badStatus.text, Line: n.badStatus.no}
	case len(n.kids) > 0:
		return Status{State: together(n.belowStatuses()).State}
	case len(n.checks) > 0:
		var all []Status
		for _, c := range n.checks {
			all = append(all, Status{State: c})
		}
		return Status{State: together(all).State}
	}
	return Status{State: Todo}
}

func (n *node) belowStatuses() []Status {
	var out []Status
	for _, k := range n.kids {
		out = append(out, k.status())
	}
	return out
}
