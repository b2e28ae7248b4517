package contract

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"gitwf/internal/plan"
)

// Encode is the reply in canonical JSON: one line, the fields in alphabetical order, nothing in it that does not
// belong to its type. Parse gives the same Reply for it.
func (r Reply) Encode() []byte {
	m := map[string]any{"schema_version": 1, keyResult: r.Type}
	if r.Summary != "" {
		m["summary"] = r.Summary
	}
	if len(r.Notes) > 0 {
		m["notes"] = r.Notes
	}
	if len(r.Concerns) > 0 {
		m["concerns"] = r.Concerns
	}
	switch r.Type {
	case Artifact:
		if len(r.Files) > 0 {
			m["files"] = eachOf(r.Files, File.fields)
		}
	case NeedsInput:
		m["needs"] = eachOf(r.Needs, needFields)
	case Error:
		m["error"] = r.Error
	case Review:
		m["verdict"], m["score"] = r.Review.Verdict, r.Review.Score
		m["criteria"] = eachOf(r.Criteria, ruling.fields)
		if len(r.Review.Suggestions) > 0 {
			m["suggestions"] = r.Review.Suggestions
		}
	case Feasibility:
		m["estimates"] = eachOf(r.Estimates, estimate.fields)
	case Answer:
		if r.Answer.Text != "" {
			m["text"] = r.Answer.Text
		}
		if r.Answer.OptionID != "" {
			m["option_id"] = r.Answer.OptionID
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		panic("contract: a reply can't fail to marshal: " + err.Error())
	}
	return b.Bytes()
}

func eachOf[T any](list []T, fields func(T) map[string]any) []map[string]any {
	out := make([]map[string]any, len(list))
	for i, v := range list {
		out[i] = fields(v)
	}
	return out
}

func (f File) fields() map[string]any {
	m := map[string]any{"path": f.Path}
	if utf8.Valid(f.Content) {
		m["content"] = string(f.Content)
	} else {
		m["content"], m["encoding"] = base64.StdEncoding.EncodeToString(f.Content), encodingBase64
	}
	if f.Executable {
		m["executable"] = true
	}
	return m
}

func needFields(n plan.Question) map[string]any {
	m := map[string]any{"name": n.Name, "question": n.Question, "kind": n.Kind}
	if len(n.Options) > 0 {
		m["options"] = n.Options
	}
	if n.RecommendedOptionID != "" {
		m["recommended_option_id"] = n.RecommendedOptionID
	}
	if n.To != "" {
		m["to"] = n.To
	}
	return m
}

func (r ruling) fields() map[string]any {
	return map[string]any{"id": r.ID, "pass": r.Pass, "evidence": r.Evidence}
}

func (e estimate) fields() map[string]any {
	return map[string]any{"task_id": e.TaskID, "estimated_person_days": e.EstimatedPersonDays,
		"one_shot_pass": e.OneShotPass, "why": e.Why}
}
