package export

import (
	"context"
	"slices"
	"testing"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

// counting counts the objects read one at a time.
type counting struct {
	*gitstore.Store
	single int
}

func (c *counting) ReadFile(ctx context.Context, treeish plan.OID, path string) ([]byte, error) {
	c.single++
	return c.Store.ReadFile(ctx, treeish, path)
}

func (c *counting) ListTree(ctx context.Context, treeish plan.OID) ([]gitstore.TreeEntry, error) {
	c.single++
	return c.Store.ListTree(ctx, treeish)
}

func TestShelfKeeps(t *testing.T) {
	r := newSite(t, 3)
	var commits []plan.OID
	for _, rev := range []string{repotest.Ref, repotest.Ref + "~1", repotest.Ref + "~2", repotest.Ref} {
		commits = append(commits, plan.OID(r.Git("rev-parse", rev)))
	}
	store := &counting{Store: r.Open()}
	shelf := NewShelf(store)
	for _, commit := range commits {
		snap, err := store.SnapshotAt(context.Background(), repotest.ID, commit)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range Approved(snap, false) {
			path := plan.ArtifactRecord{Version: v.Number}.Path()
			want := plan.OID(r.Git("rev-parse", string(commit)+":"+v.TaskID.Dir()+"/"+path))
			if got := snap.Document(v.TaskID, path); got != want {
				t.Errorf("%s of %s is %q, want %q", path, v.TaskID, got, want)
			}
		}
		o := Options{Partial: true, AllowStale: true}
		kept, err := shelf.Build(context.Background(), &Evidence{Snapshot: snap, whole: snap}, o)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := NewShelf(r.Open()).Build(context.Background(), &Evidence{Snapshot: snap, whole: snap}, o)
		if err != nil || string(fresh.Data) != string(kept.Data) || !slices.Equal(fresh.Entries, kept.Entries) {
			t.Errorf("at %s the shelf gives\n%s\nand the repository\n%s\n%v", commit, kept.Data, fresh.Data, err)
		}
	}
	if store.single > 0 {
		t.Errorf("%d documents or trees were read one by one", store.single)
	}
}

func TestParseHead(t *testing.T) {
	b, err := build(t, newSite(t, 3), Options{AllowStale: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseHead(b.Data)
	if err != nil || m.PlanID != repotest.ID || m.PlanCommit != b.Manifest.PlanCommit || m.Options != b.Manifest.Options ||
		len(m.Items) > 0 {
		t.Errorf("read %+v, %v", m, err)
	}
	for name, data := range map[string]string{
		"nothing":            "",
		"not canonical":      `{"format_version": 1, "root_criteria": []}`,
		"an unknown field":   "{\n  \"format_version\": 1,\n  \"x\": 2,\n  \"root_criteria\": []\n}\n",
		"another format":     "{\n  \"format_version\": 2,\n  \"root_criteria\": []\n}\n",
		"something unclosed": "{\n  \"format_version\": 1,\n  \"options\": {,\n  \"root_criteria\": []\n}\n",
	} {
		if m, err := ParseHead([]byte(data)); err == nil {
			t.Errorf("%s: read %+v", name, m)
		}
	}
}
