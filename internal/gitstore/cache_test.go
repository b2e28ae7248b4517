package gitstore

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/plan"
)

// A cached task yields the same names as its directory, however odd they are.
func TestCachedTaskSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names []plan.Name
		for i := range rapid.IntRange(0, 30).Draw(t, "attempts") {
			kind := rapid.SampledFrom([]string{"noop", "error", "lost", "needs_input", "other"}).Draw(t, "kind")
			n := i + rapid.IntRange(0, 2).Draw(t, "gap")
			path := rapid.SampledFrom([]string{
				fmt.Sprintf("attempts/a%d-%s.json", n, kind), fmt.Sprintf("attempts/a%d-v1-%s.json", n, kind),
				fmt.Sprintf("attempts/a%d.log", n),
				fmt.Sprintf("attempts/%d-%s.json", n, kind), fmt.Sprintf("attempts/a%d-%s.json/x", n, kind),
			}).Draw(t, "path")
			names = append(names, plan.Name{Path: path, OID: plan.OID(fmt.Sprint(i))})
		}
		names = append(names, plan.Name{Path: "artifacts/v1/artifact.json"}, plan.Name{Path: "artifacts/v1/files"},
			plan.Name{Path: "resets/s1-a2-r0.json"})
		want := plan.ParseTaskRecords(names)
		before := taskNames{id: "IMPL-1", oid: "1", names: names}
		c := cachedIndex{Fans: []cachedFan{{Name: "aa", Tasks: []cachedTask{cacheTask(before, want)}}}}
		got := c.index().records.Of("IMPL-1")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-all +cached):\n%s", diff)
		}
	})
}

func TestCachedAttemptsBounded(t *testing.T) {
	for _, run := range []cachedAttempts{{First: 1, Last: 1 << 40}, {First: 5, Last: 1}} {
		c := cachedIndex{Fans: []cachedFan{{Tasks: []cachedTask{{ID: "IMPL-1", Attempts: []cachedAttempts{run}}}}}}
		if c.index() != nil {
			t.Errorf("%+v was believed", run)
		}
	}
}
