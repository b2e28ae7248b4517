package gitstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gitwf/internal/plan"
)

// history is what a prune keeps of the commits that it archives: which records were there at each of them. Together with
// the records themselves, which all stay, that is enough to read the plan as it stood at any of them.
type history struct {
	events []plan.ArchivedEvent
	plans  []plan.OID // every plan.json
}

// archivedEvents lists the history up to a commit, parents before children.
func (s *Store) archivedEvents(ctx context.Context, tip plan.OID) (*history, error) {
	if err := s.PrefetchTrees(ctx, string(tip)); err != nil {
		return nil, err
	}
	out, err := s.GitIn(ctx, Invocation{Args: []string{
		"--no-literal-pathspecs", "-c", "log.showSignature=false", "log", "--topo-order", "--reverse", "--full-history", "--sparse", "--root",
		"--no-color", "--no-notes", "-r", "--raw", "--no-abbrev", "-z", "--no-renames", "--no-ext-diff", "--diff-merges=first-parent",
		"--format=%H %ct %P", "--end-of-options", string(tip), "--", ":(top)", ":(top,exclude,glob)tasks/*/*/artifacts/*/files/**",
	}})
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	h := &history{}
	lines := map[string]int{}
	fields := bytes.Split(out, []byte{0})
	for i := 0; i < len(fields); i++ {
		f := strings.TrimLeft(string(fields[i]), "\n")
		switch {
		case f == "":
		case f[0] != ':':
			if err := h.commit(f, lines); err != nil {
				return nil, err
			}
		case i+1 < len(fields) && len(h.events) > 0:
			i++
			h.change(strings.Fields(f), string(fields[i]))
		}
	}
	slices.Sort(h.plans)
	h.plans = slices.Compact(h.plans)
	return h, nil
}

// commit begins an event: "<commit> <seconds> <parents>". lines are those of the commits so far.
func (h *history) commit(head string, lines map[string]int) error {
	f := strings.Fields(head)
	if len(f) < 2 {
		return fmt.Errorf("read the history: git log printed %q", head)
	}
	seconds, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return fmt.Errorf("read the history: git log printed %q", head)
	}
	n := len(h.events)
	e := plan.ArchivedEvent{Commit: plan.OID(f[0]), Time: seconds, Parents: []int{}}
	for _, p := range f[2:] {
		line, ok := lines[p]
		if !ok {
			return fmt.Errorf("read the history: the parent %s of %s is not here", p, f[0])
		}
		e.Parents = append(e.Parents, line)
	}
	if len(e.Parents) == 1 && e.Parents[0] == n-1 || n == 0 {
		e.Parents = nil
	}
	lines[f[0]] = n
	h.events = append(h.events, e)
	return nil
}

// change takes up one path that a commit adds, or a plan.json that it changes. Names that no record can have are left out.
func (h *history) change(raw []string, name string) {
	e := &h.events[len(h.events)-1]
	if len(raw) != 5 || raw[4] == "D" {
		return
	}
	if name == planFile {
		e.Plan = plan.OID(raw[3])
		h.plans = append(h.plans, e.Plan)
		return
	}
	parts := strings.SplitN(name, "/", 4)
	if len(parts) != 4 || parts[0] != "tasks" || raw[4] != "A" || !utf8.ValidString(name) {
		return
	}
	task := plan.TaskID(parts[2])
	if !task.Valid() || task.Dir()+"/"+parts[3] != name {
		return
	}
	if e.Add == nil {
		e.Add = map[plan.TaskID][]string{}
	}
	e.Add[task] = append(e.Add[task], parts[3])
}

// encode writes one line for each event.
func (h *history) encode() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range h.events {
		if err := enc.Encode(e); err != nil {
			panic("gitstore: an event of plain values can't fail to marshal: " + err.Error())
		}
	}
	return b.Bytes()
}

// decodeEvents reads what encode wrote; lines that speak of later ones are refused.
func decodeEvents(data []byte) ([]plan.ArchivedEvent, error) {
	var events []plan.ArchivedEvent
	for line := range bytes.Lines(data) {
		var e plan.ArchivedEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", plan.EventsFile, len(events)+1, err)
		}
		n := len(events)
		if e.Parents == nil && n > 0 {
			e.Parents = []int{n - 1}
		}
		switch {
		case slices.ContainsFunc(e.Parents, func(p int) bool { return p < 0 || p >= n }):
			return nil, fmt.Errorf("%s, line %d: names a parent that does not come before it", plan.EventsFile, n+1)
		case !isOID(e.Commit):
			return nil, fmt.Errorf("%s, line %d: %q is no commit", plan.EventsFile, n+1, e.Commit)
		}
		events = append(events, e)
	}
	return events, nil
}

// present returns what was recorded at one of the events: the records by task, and plan.json.
func present(events []plan.ArchivedEvent, at int) (records map[plan.TaskID]map[string]bool, planFile plan.OID) {
	reached := make([]bool, at+1)
	reached[at] = true
	records = map[plan.TaskID]map[string]bool{}
	for i := at; i >= 0; i-- {
		if !reached[i] {
			continue
		}
		for task, names := range events[i].Add {
			if records[task] == nil {
				records[task] = map[string]bool{}
			}
			for _, n := range names {
				records[task][n] = true
			}
		}
		for _, p := range events[i].Parents {
			reached[p] = true
		}
	}
	for i := at; ; i = events[i].Parents[0] {
		if events[i].Plan != "" || len(events[i].Parents) == 0 {
			return records, events[i].Plan
		}
	}
}
