package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitwf/internal/export"
	"gitwf/internal/plan"
)

// applied says why an event does not follow from the verdicts that it applies; "" if it does. Without this, a commit
// could approve or reject anything in a judge's name.
func (a *auditor) applied(s *step) (why string, err error) {
	snap, err := a.before(s)
	if err != nil {
		return "", err
	}
	state := snap.State()
	ev := plan.ApplyVerdicts{Render: func(plan.Review) []byte { return nil }}
	for _, c := range s.changes {
		task, rest, ok := plan.SplitPath(c.path)
		if !ok || c.status != "A" || !strings.HasPrefix(rest, "acts/") {
			continue
		}
		data, err := a.store.ReadBlob(a.ctx, c.oid)
		if err != nil {
			return "", err
		}
		var doc struct {
			CreatedAt time.Time `json:"created_at"`
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			return "", fmt.Errorf("%s: %w", c.path, err)
		}
		ev.Judges, ev.Time = append(ev.Judges, task), doc.CreatedAt
	}
	slices.SortFunc(ev.Judges, func(x, y plan.TaskID) int { return state.Place(x) - state.Place(y) })
	if len(ev.Judges) == 0 || string(ev.Judges[0]) != s.trailers["Wf-Task"] {
		return "applies verdicts, and has no act of " + short(s.trailers["Wf-Task"]), nil
	}
	ev.Make = func(*plan.State) (reviews []plan.Review, asks []plan.Question, err error) {
		for _, judge := range ev.Judges {
			made, err := export.ReadArtifact(a.ctx, a.store, snap, judge, state.Tasks[judge].Active)
			if err != nil {
				return nil, nil, err
			}
			v, err := export.ReadVerdicts(a.ctx, a.store, snap, made)
			if err != nil {
				return nil, nil, err
			}
			r, q, err := v.Outcome(state, ev.Time)
			if err != nil {
				return nil, nil, err
			}
			reviews, asks = append(reviews, r...), append(asks, q...)
		}
		return reviews, asks, nil
	}
	want, err := ev.Apply(state)
	if err != nil {
		return "", err
	}
	return a.sameRecords(s, want.Add, "the verdicts")
}

// sameRecords says where an event adds other records than it should, "" if nowhere. The words of what is for people to
// read are not compared.
func (a *auditor) sameRecords(s *step, want []plan.Entry, of string) (string, error) {
	should := map[string][]byte{}
	for _, e := range want {
		should[e.Path] = e.Data
	}
	for _, c := range s.changes {
		if c.path == planFile {
			continue
		}
		data, ok := should[c.path]
		if !ok || c.status != "A" {
			return c.path + ": does not follow from " + of, nil
		}
		delete(should, c.path)
		if strings.HasSuffix(c.path, ".md") {
			continue
		}
		is, err := a.store.ReadBlob(a.ctx, c.oid)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(is, data) {
			return c.path + ": does not follow from " + of + ": " + difference(is, data), nil
		}
	}
	for _, path := range slices.Sorted(maps.Keys(should)) {
		return path + ": follows from " + of + ", and is not there", nil
	}
	return "", nil
}
