package gitstore

import (
	"fmt"
	"strings"
	"testing"
)

// What git's settings say about a partial clone. Remote names may have dots, and `extensions.partialClone` names one,
// too.
func TestPartialSettings(t *testing.T) {
	tests := []struct {
		name    string
		entries []string
		want    string
	}{
		{"none", nil, "[]"},
		{"without files", []string{"remote.origin.promisor\ntrue", "remote.origin.partialclonefilter\nblob:none"},
			"[origin]"},
		{"without large files", []string{"remote.origin.partialclonefilter\nblob:limit=1k"}, "[origin]"},
		{"two remotes", []string{"remote.a.b.promisor\ntrue", "extensions.partialclone\norigin",
			"remote.origin.promisor\ntrue"}, "[a.b origin]"},
		{"switched off", []string{"remote.a.promisor\nfalse"}, "[]"},
		{"without a name", []string{"remote.promisor\ntrue", "user.name\nAnn", "core.promisor\ntrue", ""}, "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p partial
			for _, entry := range tt.entries {
				key, value, _ := strings.Cut(entry, "\n")
				p.readSetting(key, value)
			}
			if got := fmt.Sprint(p.remotes); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
