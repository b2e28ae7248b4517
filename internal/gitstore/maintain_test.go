package gitstore

import (
	"context"
	"testing"
)

func TestOff(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config string
		want   bool
	}{
		{"not set", "", true},
		{"false", "auto = false", false},
		{"zero", "auto = 0", false},
		{"negative", "auto = -1", false},
		{"a number", "auto = 6700", true},
		{"true", "auto = true", true},
		{"alone", "auto", true},
		{"the last one counts", "auto = 0\n\tAuto = 1", true},
	} {
		dir := newRepo(t)
		write(t, dir, ".git/extra", "[Maintenance]\n\t"+tt.config+"\n")
		git(t, dir, "config", "include.path", "extra")
		s := open(t, dir)
		if got, err := s.allOn(context.Background(), "maintenance.auto"); got != tt.want || err != nil {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}
