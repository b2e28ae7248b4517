package secret

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Masking is a record that holds a secret, and what takes its place.
type Masking struct {
	Path string
	OID  plan.OID // of the record as it is
	Old  []byte
	New  []byte
}

// MaskRecords takes secrets out of the newest tree. It is the one event that replaces records; no status changes. The
// history before it keeps what it had, until a prune archives it and the archive is deleted.
type MaskRecords struct{ Records []Masking }

// Repairs says that a completed plan takes the event.
func (MaskRecords) Repairs() {}

// Apply is refused for what is not only masked.
func (e MaskRecords) Apply(*plan.State) (plan.Change, error) {
	if len(e.Records) == 0 {
		return plan.Change{}, errors.New("there is nothing to mask")
	}
	c := plan.Change{
		Subject:  fmt.Sprintf("doctor: secrets masked in %s", plain.Count(len(e.Records), "record")),
		Trailers: []plan.Trailer{{Key: "Wf-Event", Value: plan.EventMasked}},
	}
	for _, m := range e.Records {
		if !MayMask(m.Path, m.Old, m.New) {
			return plan.Change{}, fmt.Errorf("%s: more than texts would change", plain.Line(m.Path))
		}
		c.Body += plain.Line(m.Path) + "\n"
		c.Add = append(c.Add, plan.Entry{Path: m.Path, Data: m.New, Replaces: m.OID})
	}
	return c, nil
}

// Record is what takes the place of a record that holds secrets: of a log its hash, of any other record the same
// without them. ok is false if it holds none; and then, or where they can't be taken out, masked is nil.
func (m Mask) Record(name string, data []byte) (masked []byte, ok bool) {
	clean := []byte(m.Text(string(data)))
	if bytes.Equal(clean, data) {
		return nil, false
	}
	if isLog(name) {
		clean = maskedLog(data)
	}
	if !MayMask(name, data, clean) {
		return nil, true
	}
	return clean, true
}

// MayHoldSecrets reports whether a path of a plan's tree is that of a record with texts of agents and commands.
func MayHoldSecrets(name string) bool {
	if dir, rest, _ := strings.Cut(name, "/"); dir == plan.NotesDir {
		k := plan.KindOf(dir, true)
		return k.Texts && k.Known(rest)
	}
	parts := strings.SplitN(name, "/", 5)
	if len(parts) < 5 || parts[0] != "tasks" {
		return false
	}
	k := plan.KindOf(parts[3], false)
	return k != nil && k.Texts && path.Ext(name) != "" && k.Known(parts[4])
}

func isLog(name string) bool { return path.Ext(name) == ".log" }

func maskedLog(old []byte) []byte {
	return fmt.Appendf(nil, "%s This log of %d bytes held a secret. Its SHA-256 is %x.\n", Masked, len(old),
		sha256.Sum256(old))
}

// MayMask reports whether an event may put new in the place of old: a log's hash, or the same record with parts of its
// texts masked. What a record says in any other field stays.
func MayMask(name string, old, new []byte) bool {
	switch {
	case !MayHoldSecrets(name):
		return false
	case isLog(name):
		return bytes.Equal(new, maskedLog(old))
	case path.Ext(name) == ".md":
		return onlyMasked(string(old), string(new))
	}
	var was, is any
	return json.Unmarshal(old, &was) == nil && json.Unmarshal(new, &is) == nil && sameButTexts("", was, is)
}

// textFields are the fields of records that agents and commands have written.
var textFields = []string{"message", "evidence", "reason", "summary", "text", "output", "problem", "question"}

func sameButTexts(key string, was, is any) bool {
	switch was := was.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		same := ok && maps.EqualFunc(was, is, func(any, any) bool { return true }) // keys
		for k := range was {
			same = same && sameButTexts(k, was[k], is[k])
		}
		return same
	case []any:
		is, ok := is.([]any)
		return ok && slices.EqualFunc(was, is, func(a, b any) bool { return sameButTexts(key, a, b) })
	case string:
		is, ok := is.(string)
		return ok && (was == is || slices.Contains(textFields, key) && onlyMasked(was, is))
	}
	return was == is
}

// onlyMasked reports whether is follows from was by masking parts of it.
func onlyMasked(was, is string) bool {
	parts := strings.Split(is, Masked)
	rest, ok := strings.CutPrefix(was, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := parts[len(parts)-1]
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return true
}
