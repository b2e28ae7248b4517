package plan

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/plain"
)

// ID names a plan, and with it the ref refs/workflow/<id>: "WFS-" and a slug.
type ID string

// TaskID names a task within its plan: IMPL-1, IMPL-1.2, CHECK-IMPL-1, GOAL-1. It is never renumbered.
type TaskID string

// OID is the hexadecimal object id that git gave to a blob, tree or commit.
type OID string

// Valid reports whether the id has the form of git's: 40 lower-case hex digits.
func (o OID) Valid() bool { return len(o) == 40 && strings.Trim(string(o), "0123456789abcdef") == "" }

const (
	maxIDRunes = 50  // of a plan's id, "WFS-" included
	maxIDBytes = 120 // so that refs/workflow-claims/<plan>/<task>.lock stays a legal file name everywhere
	maxTaskID  = 100 // bytes
	idPrefix   = "WFS-"
	throwaway  = "throwaway--" // begins the slug of a plan of a throwaway repository; no title makes two dashes
)

// Valid reports whether id has the form that docs/format.md gives to task ids: ([A-Z][A-Z0-9]*-)+[0-9]+(\.[0-9]+)*. It
// is asked of each path of a plan, and a regexp would take four times as long.
func (id TaskID) Valid() bool {
	dash := strings.LastIndexByte(string(id), '-')
	if len(id) > maxTaskID || dash < 0 {
		return false
	}
	for word := range strings.SplitSeq(string(id[:dash]), "-") {
		if word == "" || isDigit(word[0]) ||
			!allBytes(word, func(c byte) bool { return isDigit(c) || 'A' <= c && c <= 'Z' }) {
			return false
		}
	}
	for number := range strings.SplitSeq(string(id[dash+1:]), ".") {
		if number == "" || !allBytes(number, isDigit) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allBytes(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

// Dir is the directory of the task's records in the plan's tree: tasks/<first byte of sha1(id), hex>/<id>. The extra
// level keeps the trees that an event rewrites small.
func (id TaskID) Dir() string {
	sum := sha1.Sum([]byte(id))
	return "tasks/" + hex.EncodeToString(sum[:1]) + "/" + string(id)
}

// CheckID is the id of the CHECK that reviews the task, unless the plan names another.
func (id TaskID) CheckID() TaskID { return "CHECK-" + id }

// Valid reports whether id can name a plan: it has the prefix, its slug is what Slug would make of it, and it is
// within the limits.
func (id ID) Valid() bool {
	slug, ok := strings.CutPrefix(string(id), idPrefix)
	slug = strings.TrimPrefix(slug, throwaway)
	long := len(idPrefix+slug) > maxIDBytes || utf8.RuneCountInString(idPrefix+slug) > maxIDRunes
	return ok && slug != "" && !long &&
		strings.ToLower(slug) == slug && plain.Slug(slug, '-') == slug
}

// Throwaway reports whether the plan was made where anybody passes for a person: its approvals count nowhere else.
func (id ID) Throwaway() bool { return strings.HasPrefix(string(id), idPrefix+throwaway) }

// InThrowaway is the id of such a plan.
func (id ID) InThrowaway() ID {
	return ID(idPrefix + throwaway + strings.TrimPrefix(string(id), idPrefix))
}

// NewID makes a plan's id from its title, cut to the limits; n > 1 asks for the form used when that id is taken
// ("-002"). An untitled plan is WFS-plan.
func NewID(title string, n int) ID {
	suffix := ""
	if n > 1 {
		suffix = fmt.Sprintf("-%03d", n)
	}
	slug := plain.Slug(strings.ToLower(title), '-')
	if slug == "" {
		slug = "plan"
	}
	for len(idPrefix+slug+suffix) > maxIDBytes || utf8.RuneCountInString(idPrefix+slug+suffix) > maxIDRunes {
		_, size := utf8.DecodeLastRuneInString(slug)
		slug = slug[:len(slug)-size]
	}
	// A cut may leave a separator, or a mark without its letter, at the end.
	return ID(idPrefix + plain.Slug(slug, '-') + suffix)
}

func isNameRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._@+-", r))
}

// VersionID writes a version number the way people and manifests name it: v1. Zero, which is no version, is "".
func VersionID(v int) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("v%d", v)
}

// VersionNumber is the inverse of VersionID; what is no version is zero.
func VersionNumber(id string) int {
	digits, _ := strings.CutPrefix(id, "v")
	if n := atoi(digits); n > 0 && VersionID(n) == id {
		return n
	}
	return 0
}
