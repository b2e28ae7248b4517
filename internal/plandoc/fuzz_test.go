package plandoc

import (
	"bytes"
	"errors"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What parses and is valid is stored, read back and parsed again as the same plan; what does not parse says where.
func FuzzParse(f *testing.F) {
	f.Add(readTestdata(f, "handbook.yaml"))
	f.Add(readTestdata(f, "handbook.json"))
	f.Add([]byte(small))
	f.Add([]byte(`{"title":"x","tasks":[{"task_id":"A-1","title":"\ud83d\ude00","meta":{"n":1e21,"m":-0.0,"z":[null]}}]}`))
	f.Add([]byte("title: &a x\ntasks: [{task_id: A-1, <<: {title: *a}}]\n"))
	f.Add([]byte("%YAML 1.1\n---\ntitle: !!str 1\ntasks: []\n...\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("p", data)
		if whole, wrong := ParseValid("p", data, policy.Floors{}); (whole == nil) != (wrong != nil) || err != nil && wrong == nil {
			t.Fatalf("parsed %v, valid %v", err, wrong)
		}
		if err != nil {
			var fs plan.Findings
			var version *VersionError
			if !errors.As(err, &fs) && !errors.As(err, &version) {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		stored, err := Encode(p)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if want := canonical(t, p); !bytes.Equal(want, stored) {
			t.Fatalf("not canonical: %s", cmp.Diff(string(want), string(stored)))
		}
		back, err := Decode(stored)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if diff := cmp.Diff(p, back); diff != "" {
			t.Fatalf("decoded: %s", diff)
		}
		if len(Validate(p, policy.Floors{})) > 0 {
			return
		}
		ReviewPlan(p, Stated)
		again, err := Parse("p", stored)
		if err != nil {
			t.Fatalf("parse what was stored: %v", err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("parsed again: %s", diff)
		}
	})
}
