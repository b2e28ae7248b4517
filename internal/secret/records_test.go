package secret

import (
	"strings"
	"testing"
)

// What an event may put in the place of a record is the same record without secrets, and nothing else.
func TestMayMask(t *testing.T) {
	const dir = "tasks/00/IMPL-1/"
	attempt := dir + "attempts/a1-error.json"
	review := dir + "reviews/r1-v1-100-checks/"
	tests := []struct {
		name, path, old, new string
		want                 bool
	}{
		{"a text", attempt, `{"kind": "error", "message": "a k3y b"}`, `{"kind": "error", "message": "a [masked] b"}`, true},
		{"several texts", review + "review.json", `{"criteria": [{"id": "A1", "evidence": "k3y"}], "reason": "x k3y k3y"}`,
			`{"criteria": [{"id": "A1", "evidence": "[masked]"}], "reason": "x [masked] [masked]"}`, true},
		{"nothing", attempt, `{"message": "a"}`, `{"message": "a"}`, true},
		{"Markdown", review + "REJECTED.md", "# k3y\n\nb\n", "# [masked]\n\nb\n", true},
		{"another text", attempt, `{"message": "a k3y b"}`, `{"message": "c [masked] b"}`, false},
		{"more words", attempt, `{"message": "a k3y b"}`, `{"message": "a [masked] b c"}`, false},
		{"parts in another order", attempt, `{"message": "a k3y b k3y c"}`, `{"message": "a [masked]c [masked] b"}`, false},
		{"what is no text", attempt, `{"kind": "error"}`, `{"kind": "[masked]"}`, false},
		{"another kind", attempt, `{"kind": "error", "message": "k3y"}`, `{"kind": "noop", "message": "[masked]"}`, false},
		{"a verdict", review + "review.json", `{"verdict": "REJECTED"}`, `{"verdict": "[masked]"}`, false},
		{"a field less", attempt, `{"kind": "error", "message": "k3y"}`, `{"message": "[masked]"}`, false},
		{"a field more", attempt, `{"message": "k3y"}`, `{"message": "[masked]", "reason": "x"}`, false},
		{"no JSON", attempt, `{"message": "k3y"}`, `{"message": "[masked]"`, false},
		{"a criterion less", review + "review.json", `{"criteria": [{"id": "A1"}, {"id": "A2"}]}`,
			`{"criteria": [{"id": "A1"}]}`, false},
		{"a log with its hash", dir + "attempts/a1.log", "k3y\n", string(maskedLog([]byte("k3y\n"))), true},
		{"a log with another hash", dir + "attempts/a1.log", "k3y\n", string(maskedLog([]byte("other\n"))), false},
		{"a log that is masked in part", dir + "attempts/a1.log", "a k3y\n", "a [masked]\n", false},
		{"a deliverable", dir + "artifacts/v1/files/page.json", `{"message": "k3y"}`, `{"message": "[masked]"}`, false},
		{"a deliverable with a record's name", dir + "artifacts/v1/files/artifact.json", `{"summary": "k3y"}`,
			`{"summary": "[masked]"}`, false},
		{"an answer", dir + "answers/q1.json", `{"text": "k3y"}`, `{"text": "[masked]"}`, false},
		{"the plan", "plan.json", `{"text": "k3y"}`, `{"text": "[masked]"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := MayMask(tt.path, []byte(tt.old), []byte(tt.new)); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// What takes the place of a record may do so, and holds the secret no more.
func TestMaskRecord(t *testing.T) {
	m := NewMask([]string{"X_KEY=s3cr3t-v4lue"})
	for name, text := range map[string]string{
		"tasks/00/IMPL-1/attempts/a1.log":                      "X s3cr3t-v4lue\n",
		"tasks/00/IMPL-1/attempts/a1-error.json":               "{\n  \"message\": \"env:\\nX_KEY=s3cr3t-v4lue\\nend\"\n}\n",
		"tasks/00/IMPL-1/reviews/r1-v1-0-ann/REJECTED.md":      "> s3cr3t-v4lue\n",
		"tasks/00/IMPL-1/checks/k1-v1.json":                    `{"criteria": [{"evidence": "s3cr3t-v4lue"}]}`,
		"tasks/00/IMPL-1/artifacts/v1/artifact.json":           `{"summary": "s3cr3t-v4lue"}`,
		"tasks/00/IMPL-1/questions/q1.json":                    `{"question": "s3cr3t-v4lue?"}`,
		"tasks/00/IMPL-1/reviews/r1-v1-100-checks/review.json": `{"reason": "s3cr3t-v4lue", "score": 100}`,
		"tasks/00/IMPL-1/reviews/r2-v1-100-checks/APPROVED.md": "s3cr3t-v4lue",
		"tasks/00/IMPL-1/attempts/a2-v1-error.json":            `{"preparation": [{"output": "s3cr3t-v4lue", "problem": "s3cr3t-v4lue"}]}`,
	} {
		masked, ok := m.Record(name, []byte(text))
		if !ok || masked == nil || strings.Contains(string(masked), "s3cr3t") || !MayMask(name, []byte(text), masked) {
			t.Errorf("%s: %t, %q", name, ok, masked)
		}
		if again, ok := m.Record(name, masked); ok {
			t.Errorf("%s: %q is masked again, %q", name, masked, again)
		}
	}
	if masked, ok := m.Record("tasks/00/IMPL-1/attempts/a1-error.json", []byte(`{"agent": "s3cr3t-v4lue"}`)); !ok ||
		masked != nil {
		t.Errorf("what is no text: %t, %q", ok, masked)
	}
}
