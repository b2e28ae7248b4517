package plandoc

import (
	"bytes"
	"errors"
	"gitwf/internal/policy"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formatPlan returns one of the two plans that docs/format.md shows.
func formatPlan(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../docs/format/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

// The stored plan of docs/format.md prints back byte for byte, and the written one means the same tasks.
func TestFormatPlans(t *testing.T) {
	text := formatPlan(t, "plan.json")
	stored, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(stored)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, text) {
		t.Errorf("the plan does not print back:\n%s", cmp.Diff(string(text), string(again)))
	}
	written, err := ParseValid("plan.yaml", formatPlan(t, "plan.yaml"), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored.Tasks, written.Tasks); diff != "" {
		t.Errorf("the two plans of docs/format are not the same: %s", diff)
	}
}

// A reader of this version refuses what a later one wrote.
func TestFormatLaterVersion(t *testing.T) {
	later := strings.Replace(string(formatPlan(t, "plan.json")), `"schema_version": 1`, `"schema_version": 3`, 1)
	_, err := Decode([]byte(later))
	var e *VersionError
	if !errors.As(err, &e) || e.Found != 3 {
		t.Errorf("a plan of version 3 is read with error %v", err)
	}
}
