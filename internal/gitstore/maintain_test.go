package gitstore

import "testing"

func TestOff(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value map[string]string
		want  bool
	}{
		{"not set", nil, false},
		{"false", map[string]string{"gc.auto": "false"}, true},
		{"zero", map[string]string{"gc.auto": "0"}, true},
		{"negative", map[string]string{"gc.auto": "-1"}, true},
		{"a number", map[string]string{"gc.auto": "6700"}, false},
		{"true", map[string]string{"gc.auto": "true"}, false},
	} {
		if got := off(tt.value, "gc.auto"); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
