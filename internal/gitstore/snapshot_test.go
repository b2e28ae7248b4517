package gitstore

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gitwf/internal/plan"
)

func TestSnapshotCache(t *testing.T) {
	dir := newRepo(t)
	longPlan(t, dir, 200)
	ctx := context.Background()
	read := func() *Snapshot {
		t.Helper()
		s := open(t, dir)
		near, err := s.Near(ctx, testID, "IMPL-7")
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Snapshot(ctx, testID)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if diff := cmp.Diff(snap.State().Tasks["IMPL-7"], near.State().Tasks["IMPL-7"], cmp.AllowUnexported(plan.TaskState{}),
			cmpopts.IgnoreFields(plan.TaskState{}, "tally", "place")); diff != "" {
			t.Errorf("near IMPL-7 (-whole +near):\n%s", diff)
		}
		return snap
	}
	same := func(what string, want, got *Snapshot) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal), cmpopts.IgnoreUnexported(Snapshot{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	fresh := read()
	if r := fresh.Records.Of("IMPL-7"); len(r.Artifacts) != 1 || len(r.Reviews) != 1 || len(r.Foreign) != 0 {
		t.Fatalf("IMPL-7: %+v", r)
	}
	same("cached", fresh, read())
	s := open(t, dir)
	near, err := s.Near(ctx, testID, "IMPL-7")
	if err != nil || len(near.Plan.Tasks) > 5 {
		t.Errorf("%v, %d tasks were read for one", err, len(near.Plan.Tasks))
	}
	if k := s.loadCache(testID); k.index == nil || k.stored.plan() == nil || len(k.index.records.Tasks) != 200 {
		t.Fatal("nothing was cached")
	}

	// One event later, the cache still serves everything that did not change.
	if _, err := appendVersion(s, "IMPL-7", "next"); err != nil {
		t.Fatal(err)
	}
	now := read()
	if now.Records.Of("IMPL-7").Active() != 2 {
		t.Error("the cache hides a version")
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git", "wf", "cache")); err != nil {
		t.Fatal(err)
	}
	same("without the cache", read(), now)

	for _, name := range []string{"WFS-shop", "WFS-shop.plan"} {
		path := filepath.Join(dir, ".git", "wf", "cache", name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		flipped := bytes.Clone(good)
		flipped[len(good)/2] ^= 1
		for what, bad := range map[string][]byte{"flipped": flipped, "cut": good[:len(good)-9], "empty": nil,
			"foreign": []byte("hello")} {
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			same(name+" "+what, now, read())
			if err := os.WriteFile(path, good, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	sound(t, dir)
}

// TestSnapshotWaits reads a plan while its newest tree is briefly missing, as between a gc and the event's writer.
func TestSnapshotWaits(t *testing.T) {
	dir := newRepo(t)
	longPlan(t, dir, 20)
	ctx := context.Background()
	writer := open(t, dir)
	if _, err := appendVersion(writer, "IMPL-7", "next"); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	defer s.Close()
	tree := s.loosePath(plan.OID(git(t, dir, "rev-parse", RefName(testID)+"^{tree}")))
	away := filepath.Join(t.TempDir(), "tree")
	if err := os.Rename(tree, away); err != nil {
		t.Fatal(err)
	}
	back := time.AfterFunc(20*time.Millisecond, func() { os.Rename(away, tree) })
	defer back.Stop()
	if _, err := s.Snapshot(ctx, testID); err != nil {
		t.Error(err)
	}
	if err := os.Rename(tree, away); err != nil {
		t.Fatal(err)
	}
	gone := open(t, dir)
	defer gone.Close()
	if err := os.RemoveAll(filepath.Join(dir, ".git", "wf", "cache")); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := gone.Snapshot(ctx, testID); !errors.As(err, &damaged) {
		t.Errorf("%v, want a *DamagedError", err)
	}
}

func TestDecodeNeverPanics(t *testing.T) {
	stored, err := cachePlan("x", 1, testPlan(testID, 2))
	if err != nil {
		t.Fatal(err)
	}
	good, err := encode(nil, reflect.ValueOf(stored))
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] = b
			d := decoder{s: string(bad)}
			var c cachedPlan
			d.decode(reflect.ValueOf(&c).Elem())
			c.plan()
			c.near(plan.Records{}, "IMPL-2")
		}
	}
}

// Every field of a plan, whatever its value, must come back from the cache.
func TestCodecKnowsEveryField(t *testing.T) {
	var p plan.Plan
	fill(t, reflect.ValueOf(&p).Elem(), 0)
	data, err := encode(nil, reflect.ValueOf(&p))
	if err != nil {
		t.Fatal(err)
	}
	var got *plan.Plan
	d := decoder{s: string(data)}
	d.decode(reflect.ValueOf(&got).Elem())
	if d.err != nil || d.s != "" {
		t.Fatalf("decode: %v, %d bytes left", d.err, len(d.s))
	}
	if diff := cmp.Diff(&p, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func fill(t *testing.T, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x" + v.Type().String())
	case reflect.Int, reflect.Int64:
		v.SetInt(-300)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), depth)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), depth)
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value, depth)
		m.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), value)
		v.Set(m)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"s": []any{"a", int64(1), 2.5, false, nil}}))
	default:
		t.Fatalf("the codec has no %s", v.Type())
	}
}
