package workflow

import (
	"strings"
	"testing"
	"time"
)

// What an id with references can be: a number where one stands, anything elsewhere.
func TestCanBe(t *testing.T) {
	e := (*env)(nil).round(2)
	for _, tt := range []struct {
		id, s  string
		begins bool
		want   bool
	}{
		{"DEV-1", "DEV-1", false, true},
		{"DEV-1", "DEV-", false, false},
		{"DEV-1", "DEV-", true, true},
		{"DEV-{{t.n}}", "DEV-12", false, true},
		{"DEV-{{t.n}}", "DEV-", false, false},
		{"DEV-{{t.n}}", "DEV-FE-", true, false},
		{"DEV-{{t.n}}", "DEV-1", true, true},
		{"DEV-{{round}}.{{t.n}}", "DEV-2.", true, true},
		{"DEV-{{round}}.{{t.n}}", "DEV-1.", true, false},
		{"DEV-{{round}}.{{t.n}}", "DEV-2.3", false, true},
		{"{{t.kind}}-{{t.n}}", "A-B-3", false, true},
		{"{{t.kind}}-{{t.n}}", "AB", false, false},
		{"A-{{m.n}}.{{t.n}}", "A-1.", true, true},
		{"A-{{m.n}}.{{t.n}}", "A-1.x", true, false},
	} {
		if got := canBe(shape(tt.id, e), tt.s, tt.begins); got != tt.want {
			t.Errorf("%s can be %s (begins: %v): %v", tt.id, tt.s, tt.begins, got)
		}
	}
	start := time.Now()
	canBe(shape(strings.Repeat("{{a}}", 200), nil), strings.Repeat("A", 150)+"-", false)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("200 holes take %s", took)
	}
}
