package plan

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestNewID(t *testing.T) {
	long := strings.Repeat("word ", 30)
	tests := []struct {
		name, title string
		n           int
		want        ID
	}{
		{"plain", "Release dossier", 1, "WFS-release-dossier"},
		{"punctuation", "  A/B test: 100% (v2)!  ", 1, "WFS-a-b-test-100-v2"},
		{"Chinese", "写一个 登录页面", 1, "WFS-写一个-登录页面"},
		{"accents are composed", "Cafe\u0301", 1, "WFS-café"},
		{"Devanagari keeps its marks", "हिन्दी", 1, "WFS-हिन्दी"},
		{"nothing to keep", "!!! ...", 1, "WFS-plan"},
		{"a mark without a letter", "\u0301\u0301", 1, "WFS-plan"},
		{"not UTF-8", "a\xffb", 1, "WFS-a-b"},
		{"no title", "", 2, "WFS-plan-002"},
		{"clash", "Shop", 2, "WFS-shop-002"},
		{"third clash", "Shop", 3, "WFS-shop-003"},
		{"a thousand clashes", "Shop", 1000, "WFS-shop-1000"},
		{"50 characters, no separator at the cut", long, 1, "WFS-word-word-word-word-word-word-word-word-word-w"},
		{"room for the number", long, 2, "WFS-word-word-word-word-word-word-word-word-wo-002"},
		{"120 bytes", strings.Repeat("任", 60), 1, ID("WFS-" + strings.Repeat("任", 38))},
		{"a path", "../../etc/passwd", 1, "WFS-etc-passwd"},
		{"not a lock file", "a.lock", 1, "WFS-a-lock"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewID(tt.title, tt.n); got != tt.want || !got.Valid() {
				t.Errorf("NewID(%q, %d) = %q (valid %v), want %q", tt.title, tt.n, got, got.Valid(), tt.want)
			}
		})
	}
}

// Whatever a plan is called, its id can be part of a ref and of a file name.
func TestNewIDIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.String().Draw(t, "title")
		id := NewID(title, rapid.IntRange(1, 2000).Draw(t, "n"))
		if !id.Valid() || len(id) > 120 || utf8.RuneCountInString(string(id)) > 50 {
			t.Fatalf("NewID(%q) = %q", title, id)
		}
		if again := NewID(strings.TrimPrefix(string(id), "WFS-"), 1); again != id {
			t.Fatalf("the id %q, taken for a title, gives %q", id, again)
		}
	})
}

func TestIDValid(t *testing.T) {
	for _, id := range []ID{
		"", "WFS-", "shop", "wfs-shop", "WFS-Shop", "WFS--shop", "WFS-shop-", "WFS-a--b", "WFS-a b", "WFS-a/b", "WFS-a.lock",
		"WFS-..", "WFS-@{u}", "WFS-a\x00b", "WFS-cafe\u0301", "WFS-a\u202eb", "policy",
		ID("WFS-" + strings.Repeat("a", 47)), ID("WFS-" + strings.Repeat("任", 39)),
	} {
		if id.Valid() {
			t.Errorf("%q is valid", id)
		}
	}
}

// The id of a throwaway repository's plan is valid, and no title makes one.
func TestThrowaway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := NewID(rapid.String().Draw(t, "title"), rapid.IntRange(1, 999).Draw(t, "n"))
		if other := id.InThrowaway(); id.Throwaway() || !other.Throwaway() || !other.Valid() {
			t.Fatalf("%q becomes %q", id, other)
		}
	})
	if id := NewID("throwaway--shop", 1); id.Throwaway() {
		t.Errorf("%q", id)
	}
	for _, id := range []ID{"WFS-throwaway--", "WFS-throwaway--throwaway--shop", "WFS-throwaway--Shop"} {
		if id.Valid() {
			t.Errorf("%q is valid", id)
		}
	}
}

func TestTaskIDValid(t *testing.T) {
	for _, id := range []TaskID{"IMPL-1", "IMPL-1.2.3", "CHECK-IMPL-1.2", "GOAL-1", "A-0", "A2-B3-7"} {
		if !id.Valid() {
			t.Errorf("%q is not valid", id)
		}
	}
	for _, id := range []TaskID{
		"", "IMPL", "impl-1", "IMPL-", "IMPL-1.", "IMPL-1..2", "-1", "1-1", "IMPL-1/..", "IMPL-1\n", "IMPL-1 ", "IMPL_1",
		"任务-1",
		TaskID("A-" + strings.Repeat("1", 99)),
	} {
		if id.Valid() {
			t.Errorf("%q is valid", id)
		}
	}
	if dir := TaskID("IMPL-1.2").Dir(); dir != "tasks/8a/IMPL-1.2" {
		t.Errorf("directory %s", dir)
	}
}

// Valid says what the expression in docs/format.md says, of all short texts of the letters that matter.
func TestTaskIDValidLikeFormat(t *testing.T) {
	form := regexp.MustCompile(`^([A-Z][A-Z0-9]*-)+[0-9]+(\.[0-9]+)*$`)
	valid := 0
	var try func(id string)
	try = func(id string) {
		want := form.MatchString(id)
		if got := TaskID(id).Valid(); got != want {
			t.Errorf("%q: %v", id, got)
		}
		if want {
			valid++
		}
		for _, c := range "A9-.a/" {
			if len(id) < 6 {
				try(id + string(c))
			}
		}
	}
	try("")
	if valid == 0 {
		t.Error("none is valid")
	}
}

func TestVersionNumber(t *testing.T) {
	for id, want := range map[string]int{
		"v1": 1, "v120": 120, "": 0, "v": 0, "v0": 0, "v01": 0, "v-1": 0, "v+1": 0, "1": 0, "vv1": 0, "v1 ": 0, "v1.2": 0,
		"v99999999999999999999": 0,
	} {
		if got := VersionNumber(id); got != want {
			t.Errorf("VersionNumber(%q) = %d, want %d", id, got, want)
		}
		if want > 0 && VersionID(want) != id {
			t.Errorf("VersionID(%d) = %q", want, VersionID(want))
		}
	}
}
