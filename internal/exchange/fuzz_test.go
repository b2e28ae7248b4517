package exchange

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// mutate damages text as disks, editors, merges and agents do.
func mutate(r *rand.Rand, s, other string) string {
	if s == "" {
		return other
	}
	i, j := r.IntN(len(s)), r.IntN(len(s))
	if i > j {
		i, j = j, i
	}
	j = min(j, i+1+r.IntN(64))
	switch r.IntN(12) {
	case 0:
		return s[:i]
	case 1:
		return s[:i] + s[j:]
	case 2:
		return s[:j] + s[i:]
	case 3:
		return s[:i] + string(rune(r.IntN(0x300))) + s[i:]
	case 4:
		return s[:i] + string([]byte{byte(r.IntN(256))}) + s[i+1:]
	case 5:
		return s[:i] + other[min(i, len(other)):] + s[j:]
	case 6:
		words := []string{"null", "NaN", "1e999", "[]", "{}", `""`, "-0", "true", `"\u0000"`, `"\ud800"`, "[[[[", "// x\n",
			"/*", `"IMPL-1"`, "IMPL-1.1.1", "\u202e", "---", "- [x] ", "T001 "}
		return s[:i] + words[r.IntN(len(words))] + s[j:]
	case 7:
		return strings.ReplaceAll(s, "1", []string{"2", "", "1.1", "-1", "99999999999999999999"}[r.IntN(5)])
	case 8:
		return strings.ReplaceAll(s, "\n", "\r\n")
	case 9:
		return strings.ToUpper(s)
	case 10:
		return strings.Replace(s, `"id"`, `"parent"`, 1+r.IntN(3))
	}
	lines := strings.SplitAfter(s, "\n")
	r.Shuffle(len(lines), func(a, b int) { lines[a], lines[b] = lines[b], lines[a] })
	return strings.Join(lines, "")
}

// hold checks what is true of every source, however broken: there is no panic, a plan fits the form of plan files, and
// the rules of plans have nothing against it but what the source does not say.
func hold(t *testing.T, files map[string]string, path string, whole bool) {
	t.Helper()
	fsys := sample(files)
	found, _ := Find(fsys, path)
	for _, f := range found {
		i := Read(fsys, f, Options{Exists: func(s string) bool { return len(s)%2 == 0 }})
		if i.Plan == nil {
			if len(i.Findings) == 0 {
				t.Fatalf("%v: neither a plan nor a finding in %q", f, files)
			}
			continue
		}
		if !whole || f.Format == formatPlan {
			continue
		}
		draft, err := i.Draft(true)
		if err != nil {
			t.Fatalf("%v: the draft is no plan file: %v\n%q", f, err, files)
		}
		_, err = plandoc.ParseValid("draft", draft, policy.Floors{})
		var fs plan.Findings
		if err != nil && !errors.As(err, &fs) {
			t.Fatal(err)
		}
		for _, x := range fs {
			if !slices.Contains([]string{"no-criteria", "no-spec", plan.CodeMore}, x.Code) {
				t.Fatalf("%v: %v\n%q", f, x, files)
			}
		}
		if _, err := CCW(snapshot(i.Plan)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMutations(t *testing.T) {
	count := 10_000
	if testing.Short() {
		count = 1000
	}
	r := rand.New(rand.NewPCG(1, 2))
	all := samples()
	formats := slices.Sorted(maps.Keys(all))
	for n := range count {
		f := formats[n%len(formats)]
		files := maps.Clone(all[f])
		names := slices.Sorted(maps.Keys(files))
		for range 1 + r.IntN(4) {
			name := names[r.IntN(len(names))]
			files[name] = mutate(r, files[name], files[names[r.IntN(len(names))]])
		}
		if r.IntN(10) == 0 {
			delete(files, names[r.IntN(len(names))])
		}
		hold(t, files, pathOf(f), n%8 == n/8%8)
	}
}

func FuzzRead(f *testing.F) {
	for _, files := range samples() {
		for name, text := range files {
			f.Add(name[strings.LastIndexByte(name, '/')+1:], text)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(text) > 1<<16 || strings.ContainsAny(name, "/\\\x00") || name == "" || name == "." || name == ".." {
			return
		}
		hold(t, map[string]string{name: text}, name, true)
		hold(t, map[string]string{"WFS-x/.task/IMPL-1.json": text, "WFS-x/workflow-session.json": text}, ".", true)
	})
}
