package process

import (
	"slices"
	"testing"
)

func TestAllowed(t *testing.T) {
	base := []string{"PATH=/bin", "LC_ALL=C", "GOCACHE=/c", "GOOGLE_API_KEY=x", "AWS_SECRET_ACCESS_KEY=x", "REGION=north",
		"REGION_2=south", "GIT_DIR=/x", "WF_TASK=A-1"}
	for _, tt := range []struct {
		name string
		more []string
		want []string
	}{
		{"the defaults", nil, []string{"PATH=/bin", "LC_ALL=C", "GOCACHE=/c"}},
		{"a name", []string{"REGION"}, []string{"PATH=/bin", "LC_ALL=C", "GOCACHE=/c", "REGION=north"}},
		{"the beginning of names", []string{"REGION*"}, []string{"PATH=/bin", "LC_ALL=C", "GOCACHE=/c", "REGION=north",
			"REGION_2=south"}},
		{"all of it, but what is git's and ours", []string{"*"}, base[:7]},
	} {
		if got := Environ(Allowed(base, tt.more)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
