package plandoc

import (
	"bytes"
	"errors"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readFormat(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fences returns the fenced blocks of the document with the given words behind the fence.
func fences(t *testing.T, words string) []string {
	t.Helper()
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+words+"\n(.*?)^```$").FindAllStringSubmatch(readFormat(t), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("docs/format.md has no block %q", words)
	}
	return blocks
}

func TestFormatPlans(t *testing.T) {
	var stored *plan.Plan
	for _, text := range fences(t, "json plan") {
		p, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, []byte(text)) {
			t.Errorf("a plan of docs/format.md does not print back:\n%s", cmp.Diff(text, string(again)))
		}
		stored = p
	}
	for _, text := range fences(t, "yaml plan") {
		p, err := ParseValid("format.md", []byte(text), policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored.Tasks, p.Tasks); diff != "" {
			t.Errorf("the two plans of docs/format.md are not the same: %s", diff)
		}
	}
}

// A reader of this version refuses what a later one wrote.
func TestFormatLaterVersion(t *testing.T) {
	later := strings.Replace(fences(t, "json plan")[0], `"schema_version": 1`, `"schema_version": 3`, 1)
	_, err := Decode([]byte(later))
	var e *VersionError
	if !errors.As(err, &e) || e.Found != 3 {
		t.Errorf("a plan of version 3 is read with error %v", err)
	}
}
