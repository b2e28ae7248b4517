package outline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var (
	lastNumber = pattern.Compile(`^(.*?)([0-9]+(?:\.[0-9]+)*)([a-z]?)$`)
	noLetters  = pattern.Compile(`[^A-Z0-9]+`)
)

// legalID makes a task's id of what the source calls it: "M1-T2" is M1-T-2, "T1.2" is T-1.2, "1.1" is TASK-1.1. It is
// "" where nothing like that can be made.
func legalID(l label) plan.TaskID {
	s := strings.TrimSpace(l.id)
	if len(s) == 1 && (s[0] >= 'A' && s[0] <= 'Z' || s[0] >= 'a' && s[0] <= 'z') {
		s = strconv.Itoa(int(s[0]|0x20-'a') + 1)
	}
	m := lastNumber.Get().FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	prefix := strings.Trim(noLetters.Get().ReplaceAllString(strings.ToUpper(m[1]), "-"), "-")
	switch {
	case prefix == "" && l.kind == goalWord:
		prefix = "M"
	case prefix == "":
		prefix = "TASK"
	}
	if prefix[0] < 'A' || prefix[0] > 'Z' {
		prefix = "T" + prefix
	}
	parts := strings.Split(prefix, "-")
	for i, p := range parts {
		if p[0] < 'A' || p[0] > 'Z' {
			parts[i] = "N" + p
		}
	}
	number := m[2]
	if m[3] != "" {
		number += "." + strconv.Itoa(int(m[3][0]-'a')+1)
	}
	id := plan.TaskID(strings.Join(parts, "-") + "-" + number)
	if reservedID(id) {
		id = "T-" + id
	}
	if !id.Valid() {
		return ""
	}
	return id
}

// reservedID reports ids that a plan keeps for others: its root, the CHECKs and the tasks that make plans.
func reservedID(id plan.TaskID) bool {
	s := string(id)
	return s == "GOAL-1" || strings.HasPrefix(s, "CHECK-") || strings.HasPrefix(s, "PLAN-")
}

// ids gives every goal and task an id: its own where that is free, else one made from its place.
func (b *builder) ids(nodes []*node) {
	taken := map[plan.TaskID]bool{}
	want := make([]plan.TaskID, len(nodes))
	count := map[plan.TaskID]int{}
	anew := false // numbers begin anew in each milestone: then all of them are qualified, so that they stay what they are
	for i, n := range nodes {
		if want[i] = legalID(n.label); want[i] != "" {
			count[want[i]]++
			anew = anew || bare(n) && count[want[i]] > 1
		}
	}
	claim := func(n *node, id plan.TaskID) bool {
		if id == "" || taken[id] || !id.Valid() || taken[id.CheckID()] {
			return false
		}
		taken[id], n.id = true, id
		return true
	}
	for i, n := range nodes {
		if count[want[i]] == 1 && !(anew && bare(n)) {
			claim(n, want[i])
		}
	}
	for i, n := range nodes {
		if n.id != "" {
			continue
		}
		if (count[want[i]] > 1 || anew && bare(n)) && (claim(n, qualified(n)) || claim(n, want[i])) {
			continue
		}
		b.byPlace(n, claim)
	}
}

// bare reports a task inside of a goal that is called by a number alone.
func bare(n *node) bool {
	return n.label.id != "" && strings.Trim(n.label.id, "0123456789") == "" && n.label.kind != goalWord &&
		n.parent != nil && n.parent.parent != nil
}

// qualified is the id of a task whose number begins anew in each milestone.
func qualified(n *node) plan.TaskID {
	if n.parent == nil || n.parent.id == "" {
		return ""
	}
	m := lastNumber.Get().FindStringSubmatch(n.label.id)
	if m == nil {
		return ""
	}
	at := strings.LastIndexByte(string(n.parent.id), '-')
	head := strings.ReplaceAll(string(n.parent.id)[:at], "-", "")
	return plan.TaskID("TASK-" + head + strings.ReplaceAll(string(n.parent.id)[at+1:], ".", "") + "-" + m[2])
}

func (b *builder) byPlace(n *node, claim func(*node, plan.TaskID) bool) {
	var place []string
	for at := n; at.parent != nil; at = at.parent {
		place = append(place, strconv.Itoa(slices.Index(at.parent.kids, at)+1))
	}
	slices.Reverse(place)
	prefix := "TASK-"
	if n.label.kind == goalWord || len(n.kids) > 0 {
		prefix = "M-"
	}
	base := plan.TaskID(prefix + strings.Join(place, "."))
	if !base.Valid() {
		base = plan.TaskID(prefix + place[len(place)-1])
	}
	for k, id := 2, base; !claim(n, id); k++ {
		id = plan.TaskID(fmt.Sprintf("%s.%d", base, k))
	}
}

var wordNumber = pattern.Compile(`(?i)(?:milestone|phase|stage|sprint|epic|task|step|story|issue|里程碑|阶段|任务|任務` +
	`|步骤)\s*#?\s*([0-9]+(?:\.[0-9]+)*|[A-Z][0-9.-]*|[一二三四五六七八九十]+)|([A-Za-z][A-Za-z0-9_.-]*[0-9][A-Za-z0-9.]*` +
	`|[0-9]+(?:\.[0-9]+)*)`)

// dependencies finds the tasks that a text of dependencies names. What names none stays text.
func (b *builder) dependencies(nodes []*node) {
	index, titles := map[string][]*node{}, map[string][]*node{}
	for _, n := range nodes {
		seen := map[string]bool{}
		titles[norm(n.label.title)] = append(titles[norm(n.label.title)], n)
		for _, name := range []string{norm(n.label.id), norm(string(n.id))} {
			if name != "" && !seen[name] {
				seen[name] = true
				index[name] = append(index[name], n)
			}
		}
	}
	for _, n := range nodes {
		for _, text := range n.needs {
			before := len(n.deps)
			for _, m := range wordNumber.Get().FindAllStringSubmatch(text, 100) {
				id := cmp.Or(arabic(m[1]), m[2])
				if m[1] == "" && strings.Trim(id, "0123456789") == "" && !n.numbered() {
					continue
				}
				if d := nearestNode(index[norm(strings.Trim(id, ".-_"))], n); d != nil {
					n.deps = append(n.deps, d)
				}
			}
			if len(n.deps) == before {
				n.depsByTitle(text, titles)
			}
		}
	}
}

// depsByTitle finds the tasks that a text of dependencies calls by their titles.
func (n *node) depsByTitle(text string, titles map[string][]*node) {
	for _, name := range strings.FieldsFunc(plainText(text), func(r rune) bool {
		return strings.ContainsRune(",，、;；", r)
	}) {
		if d := nearestNode(titles[norm(name)], n); d != nil && norm(name) != "" {
			n.deps = append(n.deps, d)
		}
	}
}

// numbered reports that tasks are called by bare numbers where n stands, so that a bare number can mean one.
func (n *node) numbered() bool { return numeric(n.label.id) && n.label.id != "" }

// nearestNode is the candidate that shares the most of n's goals; never n itself, what it stands in, or what stands in
// it.
func nearestNode(all []*node, n *node) *node {
	var best *node
	bestDepth := -1
	for _, c := range all {
		if c == n || n.below(c) || c.below(n) {
			continue
		}
		depth := 0
		for p := c.parent; p != nil; p = p.parent {
			if n.below(p) {
				depth++
			}
		}
		if depth > bestDepth {
			best, bestDepth = c, depth
		}
	}
	return best
}
