package export

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
	"gitwf/internal/repotest"
)

func TestMain(m *testing.M) { os.Exit(repotest.InMemory{M: m}.Run()) }

// site is a plan with two deliverables, the second made from the first, and a task that assembles them.
const site = `title: Site
root_acceptance_criteria:
  - {id: R1, statement: The site has a page}
  - {id: R2, statement: The page has a style}
  - {id: R3, statement: The page loads fast}
  - {id: R4, statement: The site is one file}
final_deliverable_spec: {mode: ASSEMBLE, assemble_task_id: IMPL-3}
tasks:
  - task_id: IMPL-1
    title: 首页 Page
    estimated_person_days: 1
    deliverable_spec: {format: html, filename: page.html}
    acceptance_criteria:
      - {id: A1, statement: page.html has a title, run: test -s page.html, covers: [R1]}
      - {id: A2, statement: page.html is below 9 kB, run: test -s page.html, severity: SHOULD, covers: [R3]}
  - task_id: IMPL-2
    title: Style
    estimated_person_days: 1
    depends_on: [IMPL-1]
    deliverable_spec: {format: css, filename: style.css}
    acceptance_criteria: [{id: A1, statement: style.css has 3 rules, run: test -s style.css}]
    covers: [R2]
  - task_id: IMPL-3
    title: Whole
    estimated_person_days: 1
    depends_on: [IMPL-1, IMPL-2]
    deliverable_spec: {format: html, filename: site.html}
    acceptance_criteria: [{id: A1, statement: site.html has a style, run: test -s site.html, covers: [R4]}]
`

func newSite(t *testing.T, approved int) *repotest.Repo {
	t.Helper()
	r := repotest.New(t)
	r.Begin(site)
	for i, name := range []string{"page.html", "style.css", "site.html"}[:approved] {
		r.Approved(plan.TaskID(fmt.Sprintf("IMPL-%d", i+1)), name, name+" v1\n")
	}
	return r
}

func build(t *testing.T, r *repotest.Repo, o Options) (*Bundle, error) {
	t.Helper()
	store := r.Open() // a store with empty caches
	snap, err := store.Snapshot(context.Background(), repotest.ID)
	if err != nil {
		t.Fatal(err)
	}
	return NewShelf(store).Build(context.Background(), &Evidence{Snapshot: snap, whole: snap}, o)
}

func paths(b *Bundle) string {
	var names []string
	for _, e := range b.Entries {
		names = append(names, e.Path)
	}
	return strings.Join(names, " ")
}

// The gate builds each bundle again and compares bytes.
func TestBuildIsPure(t *testing.T) {
	r := newSite(t, 3)
	for _, o := range []Options{{}, {FinalOnly: true}, {Partial: true}, {AllowStale: true}} {
		one, err := build(t, r, o)
		if err != nil {
			t.Fatal(err)
		}
		r.Git("update-ref", "refs/heads/other", "HEAD") // other changes in the repository are no input
		two, err := build(t, r, o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Data, two.Data) || !slices.Equal(one.Entries, two.Entries) {
			t.Errorf("%+v: two bundles of one commit:\n%s\n%s", o, one.Data, two.Data)
		}
		m, err := ParseManifest(one.Data)
		if err != nil || m.Options != o {
			t.Errorf("%+v: read back %+v, %v", o, m.Options, err)
		}
		if !bytes.Equal(plan.Document(m), one.Data) {
			t.Errorf("%+v: the manifest is not canonical", o)
		}
	}
}

func TestBuildHolds(t *testing.T) {
	full := "manifest.json .gitattributes 首页_Page_IMPL-1/page.html Style_IMPL-2/style.css Whole_IMPL-3/site.html"
	tests := []struct {
		name     string
		approved int
		options  Options
		want     string // the paths, or the error
		complete bool
	}{
		{"all", 3, Options{}, full, true},
		{"the assembled one", 3, Options{FinalOnly: true}, "manifest.json .gitattributes Whole_IMPL-3/site.html", true},
		{"unfinished", 2, Options{}, "WFS-site is not done: IMPL-3", false},
		{"not begun", 0, Options{FinalOnly: true}, "WFS-site is not done: IMPL-3", false},
		{"as far as it is", 1, Options{Partial: true}, "manifest.json .gitattributes 首页_Page_IMPL-1/page.html", false},
		{"nothing yet", 0, Options{Partial: true}, "manifest.json .gitattributes", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := build(t, newSite(t, tt.approved), tt.options)
			if err != nil {
				if err.Error() != tt.want {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				return
			}
			if got := paths(b); got != tt.want || b.Manifest.Complete != tt.complete {
				t.Errorf("complete %v: %s", b.Manifest.Complete, got)
			}
			for _, item := range b.Manifest.Items {
				if rev := item.Review; rev == nil || rev.Verdict != plan.Approved ||
					rev.ReviewedArtifactID != item.ApprovedArtifactID || item.Stale != "" {
					t.Errorf("%+v", item)
				}
				if item.Final != (item.TaskID == "IMPL-3") {
					t.Errorf("%s is final: %v", item.TaskID, item.Final)
				}
			}
		})
	}
}

func TestBuildStale(t *testing.T) {
	// Approve a newer IMPL-1 after IMPL-2 was made from the older one.
	newer := func(r *repotest.Repo) {
		r.Review("IMPL-1", 1, "ann", plan.Rejected, nil)
		r.Approved("IMPL-1", "page.html", "another page\n")
	}
	tests := []struct {
		name   string
		change func(r *repotest.Repo)
		want   string // the refusal; the manifest compares the inputs alone
	}{
		{"as it was made", func(*repotest.Repo) {}, ""},
		{"a newer input", newer, "IMPL-2 v1 (made from IMPL-1 v1, approved is v2); " +
			"IMPL-3 v1 (made from IMPL-1 v1, approved is v2; IMPL-2 v1, which is made anew)"},
		{"the same input again", func(r *repotest.Repo) {
			r.Review("IMPL-1", 1, "ann", plan.Rejected, nil)
			r.Approved("IMPL-1", "page.html", "page.html v1\n")
		}, ""},
		{"other criteria", func(r *repotest.Repo) {
			r.Replan(func(p *plan.Plan) { p.Task("IMPL-2").AcceptanceCriteria[0].Statement = "style.css has 4 rules" })
		}, "IMPL-2 v1 (its criteria changed after r1)"},
		{"another title", func(r *repotest.Repo) { r.Replan(func(p *plan.Plan) { p.Task("IMPL-2").Title = "Looks" }) }, ""},
	}
	site := newSite(t, 3)
	made := site.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := site.In(t, made)
			tt.change(r)
			_, err := build(t, r, Options{})
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || err.Error() != "stale: "+tt.want):
				t.Fatalf("error %v, want %s", err, tt.want)
			}
			b, err := build(t, r, Options{AllowStale: true})
			if err != nil {
				t.Fatal(err)
			}
			var shown []string
			for _, i := range b.Manifest.Items {
				if i.Stale != "" {
					shown = append(shown, fmt.Sprintf("%s %s (%s)", i.TaskID, i.ApprovedArtifactID, i.Stale))
				}
			}
			if got := strings.Join(shown, "; "); got != strings.ReplaceAll(tt.want, "; IMPL-2 v1, which is made anew", "") {
				t.Errorf("the manifest says %q", got)
			}
		})
	}
}

func TestBuildWithCandidates(t *testing.T) {
	r := newSite(t, 1)
	r.Version("IMPL-2", "exec", map[string]string{"style.css": "a draft\n"}, nil)
	b, err := build(t, r, Options{IncludeCandidates: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Manifest.Items) != 2 {
		t.Fatalf("%s", paths(b))
	}
	if i := b.Manifest.Items[1]; i.CandidateID != "v1" || i.ApprovedArtifactID != "" || i.Review != nil ||
		i.Version() != "v1" {
		t.Errorf("the candidate passes for approved: %+v", i)
	}
	if b, err = build(t, r, Options{Partial: true}); err != nil || strings.Contains(paths(b), "style.css") {
		t.Errorf("a candidate in a bundle that is to land: %s, %v", paths(b), err)
	}
}

func TestChecklist(t *testing.T) {
	tests := []struct {
		name     string
		approved int
		should   string // the result of IMPL-1's SHOULD, which covers R3
		want     string
	}{
		{"nothing", 0, "", "R1 [] R2 [] R3 [] R4 []"},
		{"a MUST and a SHOULD that passed", 1, plan.ResultPass, "R1 [IMPL-1 v1 A1] R2 [] R3 [IMPL-1 v1 A2] R4 []"},
		{"a SHOULD that was waived", 1, plan.ResultWaived, "R1 [IMPL-1 v1 A1] R2 [] R3 [] waived [IMPL-1 v1 A2] R4 []"},
		{"a SHOULD that failed", 1, plan.ResultFail, "R1 [IMPL-1 v1 A1] R2 [] R3 [] R4 []"},
		{"a SHOULD that nobody judged", 1, plan.ResultNotJudged, "R1 [IMPL-1 v1 A1] R2 [] R3 [] R4 []"},
		{"a whole task", 2, plan.ResultFail, "R1 [IMPL-1 v1 A1] R2 [IMPL-2 v1] R3 [] R4 []"},
		{"everything", 3, plan.ResultPass, "R1 [IMPL-1 v1 A1] R2 [IMPL-2 v1] R3 [IMPL-1 v1 A2] R4 [IMPL-3 v1 A1]"},
	}
	repo := repotest.New(t)
	repo.Begin(site)
	empty := repo.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := repo.In(t, empty)
			if tt.approved > 0 {
				r.Version("IMPL-1", "exec", map[string]string{"page.html": "x"}, nil)
				if tt.should == plan.ResultWaived {
					r.Waive("IMPL-1", 1, "A2")
				}
				r.Review("IMPL-1", 1, "ann", plan.Approved, func(rev *plan.Review) { rev.Criteria[1].Result = tt.should })
			}
			for i := 2; i <= tt.approved; i++ {
				r.Approved(plan.TaskID(fmt.Sprintf("IMPL-%d", i)), "f", "x")
			}
			b, err := build(t, r, Options{Partial: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range b.Manifest.RootCriteria {
				if c.Met != (len(c.MetBy) > 0) {
					t.Errorf("%+v", c)
				}
				got = append(got, fmt.Sprint(c.ID, " ", c.MetBy))
				if c.Waived() {
					got = append(got, fmt.Sprint("waived ", c.WaivedBy))
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s", s)
			}
		})
	}
}

// export believes artifact.json about the files only where it agrees with the approved tree.
func TestLyingArtifact(t *testing.T) {
	const lists = "IMPL-1 v1: artifact.json does not list what its tree"
	tests := []struct {
		name string
		lie  func(a *plan.Artifact)
		want string
	}{
		{"no lie", func(*plan.Artifact) {}, ""},
		{"a file left out", func(a *plan.Artifact) { a.Files = a.Files[:1] }, lists},
		{"a file too many", func(a *plan.Artifact) {
			a.Files = append(a.Files, plan.FileInfo{Path: "more.html", Mode: "100644", OID: a.Files[0].OID})
		}, lists},
		{"a file twice", func(a *plan.Artifact) { a.Files[1] = a.Files[0] }, lists},
		{"another name", func(a *plan.Artifact) { a.Files[0].Path = "../../../evil" }, "files[] have paths as section 2 says"},
		{"another mode", func(a *plan.Artifact) { a.Files[0].Mode = "100755" }, lists},
		{"another content", func(a *plan.Artifact) { a.Files[0].OID = a.Files[1].OID }, lists},
		{"another tree", func(a *plan.Artifact) { a.Tree = a.Files[0].OID }, "speaks of the tree"},
		{"another version", func(a *plan.Artifact) { a.ArtifactID = "v2" }, "does not say what its name says"},
		{"another task", func(a *plan.Artifact) { a.TaskID = "IMPL-2" }, `speaks of "IMPL-2", not of IMPL-1`},
	}
	repo := repotest.New(t)
	repo.Begin(site)
	var truth plan.Artifact
	repo.Version("IMPL-1", "exec", map[string]string{"page.html": "x", "z.html": "y"}, func(a *plan.Artifact) {
		truth = *a
	})
	repo.Review("IMPL-1", 1, "ann", plan.Approved, nil)
	truth.ArtifactID = "v1"
	honest := repo.Mark()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, told := repo.In(t, honest), truth
			told.Files = slices.Clone(truth.Files)
			tt.lie(&told)
			r.Forge(repotest.Ref, map[string]string{plan.TaskID("IMPL-1").Dir() +
				"/artifacts/v1/artifact.json": string(plan.Document(told))})
			_, err := build(t, r, Options{Partial: true})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A review whose document and name disagree lets nothing into a bundle.
func TestLyingReview(t *testing.T) {
	r := newSite(t, 1)
	dir := plan.TaskID("IMPL-1").Dir() + "/reviews/r1-v1-100-ann/"
	told := r.Git("show", repotest.Ref+":"+dir+"review.json")
	r.Forge(repotest.Ref, map[string]string{dir + "review.json": strings.Replace(told, `"score": 100`, `"score": 99`, 1)})
	if _, err := build(t, r, Options{Partial: true}); err == nil ||
		!strings.Contains(err.Error(), "does not say what its name says") {
		t.Errorf("error %v", err)
	}
}

func TestParseManifest(t *testing.T) {
	b, err := build(t, newSite(t, 1), Options{Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		s := strings.Replace(string(b.Data), old, new, 1)
		if s == string(b.Data) {
			t.Fatalf("the manifest has no %s:\n%s", old, s)
		}
		return s
	}
	tests := []struct{ name, data, want string }{
		{"as written", string(b.Data), ""},
		{"a later format", change(`"format_version": 1`, `"format_version": 2`), "format_version 2; this git-wf knows 1"},
		{"no format", change(`"format_version": 1,`, ""), "format_version 0; this git-wf knows 1"},
		{"an unknown field", change(`"plan_id"`, `"waived": true, "plan_id"`), `unknown field "waived"`},
		{"an unknown field of an item", change(`"task_id"`, `"by": "eve", "task_id"`), `unknown field "by"`},
		{"an unknown option", change(`"partial"`, `"unchecked": true, "partial"`), `unknown field "unchecked"`},
		{"empty", "", "EOF"},
		{"a list", "[]", "cannot unmarshal array"},
		{"cut off", string(b.Data[:len(b.Data)/2]), "unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseManifest([]byte(tt.data))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestDir(t *testing.T) {
	for title, want := range map[string]string{
		"Page": "Page_IMPL-1", "首页 Page!": "首页_Page_IMPL-1", "": "IMPL-1", "../..": "IMPL-1",
		"/etc/passwd": "etc_passwd_IMPL-1",
		".git":        "git_IMPL-1", "CON": "CON_IMPL-1", "a\x00b\x1b[1m": "a_b_1m_IMPL-1",
		strings.Repeat("表", 200): strings.Repeat("表", 26) + "_IMPL-1",
	} {
		if got := Dir(&plan.Task{TaskID: "IMPL-1", Title: title}); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

func TestDirIsLegal(t *testing.T) {
	pieces := []string{"..", "/", "\\", ".git", ".gitmodules", "con", "aux.", " ", ".", "_", "-", "\x00", "\n", "\u202e",
		"\u200c", "\ufeff", "é", "e\u0301", "İ", "ß", "表", "😀", "git~1", ":", "\xff", "long long long long "}
	rapid.Check(t, func(t *rapid.T) {
		title := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 30).Draw(t, "title"),
			"")
		id := plan.TaskID(rapid.SampledFrom([]string{"IMPL-1", "IMPL-1.2.3", "A-B2-77"}).Draw(t, "id"))
		dir := Dir(&plan.Task{TaskID: id, Title: title})
		if err := relpath.Check(dir); err != nil {
			t.Fatalf("%q of %q: %v", dir, title, err)
		}
		if strings.Contains(dir, "/") || dir != string(id) && !strings.HasSuffix(dir, "_"+string(id)) ||
			len(dir) > maxSlug+1+len(id) {
			t.Fatalf("%q of %q", dir, title)
		}
	})
}

// No two tasks share a directory, whatever their titles fold to.
func TestDirsDiffer(t *testing.T) {
	ids := []plan.TaskID{"IMPL-1", "IMPL-1.2", "A-IMPL-1", "IMPL-12", "I-1"}
	seen := map[string]plan.TaskID{}
	for _, id := range ids {
		for _, title := range []string{"", "Page", "page_a", "IMPL-1", "x_IMPL-1", "A"} {
			dir := relpath.Fold(Dir(&plan.Task{TaskID: id, Title: title}))
			if other, ok := seen[dir]; ok && other != id {
				t.Errorf("%s is of %s and of %s", dir, other, id)
			}
			seen[dir] = id
		}
	}
}

var _ reader = (*gitstore.Store)(nil)
