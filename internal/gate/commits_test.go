package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Many settings change what a log shows. None of them may hide a change from the gate or make it see a commit as
// another.
var hostileSettings = [][2]string{
	{"log.follow", "true"}, {"log.showSignature", "true"}, {"log.showRoot", "false"}, {"log.diffMerges", "off"},
	{"log.decorate", "full"},
	{"log.mailmap", "true"}, {"log.abbrevCommit", "true"}, {"format.pretty", "oneline"}, {"diff.renames", "copies"},
	{"diff.relative", "true"},
	{"diff.orderFile", "nowhere"}, {"diff.ignoreSubmodules", "all"}, {"diff.external", "false"}, {"diff.noprefix", "true"},
	{"color.ui", "always"},
	{"core.abbrev", "4"}, {"core.quotePath", "true"}, {"diff.submodule", "log"}, {"submodule.mod.ignore", "all"},
}

func TestHostileHistory(t *testing.T) {
	f := newPage(t)
	var want []string
	found := func(commit plan.OID, code, path string) {
		want = append(want, fmt.Sprintf("%.12s %s %q", commit, code, path))
	}

	// The root of another history, merged later.
	start := f.Git("rev-parse", "HEAD")
	f.Git("checkout", "-q", "--orphan", "other")
	f.stage("100644", "deliverables/root", "x")
	found(f.land(), "not-a-bundle", "deliverables/root")
	f.Git("update-ref", "refs/heads/end", start)
	f.Git("checkout", "-q", "-f", "end")

	odd := "deliverables/a\nb\t\"ü\" :100644 "
	oid := f.GitIn("x", "hash-object", "-w", "--stdin")
	f.GitIn("100644 "+oid+"\t"+odd+"\x00", "update-index", "-z", "--index-info")
	found(f.land(), "not-a-bundle", odd)

	f.export(export.Options{})
	f.land()
	f.Git("update-index", "--chmod=+x", one)
	found(f.land(), "mode", one)
	f.Git("update-index", "--chmod=-x", one)
	f.land()

	// Renamed without a change: one file is missing and one is extra.
	f.stage("100644", dir+"/renamed", "nice")
	f.unstage(two)
	renamed := f.land()
	found(renamed, "missing", two)
	found(renamed, "added", dir+"/renamed")
	f.export(export.Options{})
	f.land()

	f.GitIn("160000 "+start+"\tdeliverables/mod\n", "update-index", "--index-info")
	found(f.land(), "not-a-bundle", "deliverables/mod")

	// Two merges: one equals a parent, the other brings content that neither parent has.
	for i, smuggled := range []string{"", "evil"} {
		if smuggled != "" {
			f.stage("100644", one, smuggled)
		}
		side := f.Git("commit-tree", "-p", "HEAD", "-m", "side", "HEAD^{tree}")
		merge := f.Git("commit-tree", "-p", "HEAD", "-p", side, "-p", "other", "-m", "merge", f.Git("write-tree"))
		if i == 1 {
			found(plan.OID(merge), "changed", one)
		}
		f.Git("update-ref", "HEAD", merge)
	}
	slices.Sort(want)

	say := func(r *Report, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Findings {
			got = append(got, fmt.Sprintf("%.12s %s %q", f.Commit, f.Code, f.Path))
		}
		slices.Sort(got)
		return got
	}
	check := func(when string) {
		t.Helper()
		g := New(f.Store, &gitstore.Policy{})
		if got := say(g.Range(context.Background(), start+"..HEAD")); !slices.Equal(got, want) {
			t.Errorf("%s, found\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		var each []string
		for _, c := range strings.Fields(f.Git("rev-list", start+"..HEAD")) {
			each = append(each, say(New(f.Store, &gitstore.Policy{}).Commit(context.Background(), plan.OID(c)))...)
		}
		slices.Sort(each)
		if !slices.Equal(each, want) {
			t.Errorf("%s, one by one, found\n%s\nwant\n%s", when, strings.Join(each, "\n"), strings.Join(want, "\n"))
		}
	}
	check("by git's own settings")
	for _, s := range hostileSettings {
		f.Git("config", s[0], s[1])
		check("with " + s[0])
		f.Git("config", "--unset", s[0])
	}
	for _, s := range hostileSettings {
		f.Git("config", s[0], s[1])
	}
	check("with all of them")
}

// A proof at the ends of a range must not cover commits in between that have other content or another layout.
func TestExpectedBundle(t *testing.T) {
	f := newPage(t)
	start := f.Git("rev-parse", "HEAD")
	f.export(export.Options{})
	f.Git("update-index", "--chmod=+x", dir+"/manifest.json")
	bad := f.land()
	f.Git("update-index", "--chmod=-x", dir+"/manifest.json")
	f.land()
	r, err := New(f.Store, &gitstore.Policy{}).Range(context.Background(), start+"..")
	if err != nil || say(r.Findings) != "manifest manifest.json" || r.Findings[0].Commit != bad || len(r.Bundles) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
