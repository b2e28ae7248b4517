package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// comparePage shows two versions of a task side by side.
type comparePage struct {
	page
	Task     *plan.TaskState
	Versions []string
	A, B     string
	Whole    bool // show unchanged lines, too
	Files    []change
	Change   bool // of the repository: A may be "", what B is a change of
}

// change is one file in two versions, or in what a version of a change is made of.
type change struct {
	gitstore.Changed
	A, B    *preview
	Lines   []pair          // of a text
	Large   bool            // too large to compare line by line
	Link    string          // to its lines
	Remarks []export.Remark // what reviews say of lines that are not shown
}

// pair is one row: a line of each side. A number of zero means no line.
type pair struct {
	A, B        int
	Left, Right string
	Gap         bool // unchanged lines were left out before this one
	Changed     bool
	Remarks     []export.Remark // what reviews say of the line
}

// The limits of a comparison line by line: bytes of each file, rows of each file, files.
const (
	largestCompared = 1 << 20
	mostRows        = 3000
	mostCompared    = 200
)

// comparePage shows two versions, or what a version changes in the repository, with what reviews say of its lines.
func (s *Server) comparePage(w http.ResponseWriter, r *http.Request) error {
	snap, _, t, at, err := s.askedTask(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	p := comparePage{page: s.planHead(r, snap, "task"), Task: t, A: q.Get("a"), B: q.Get("b"),
		Whole: q.Get("whole") == "1", Change: t.Changes()}
	p.Past = at
	rec := snap.Records.Of(t.TaskID)
	for _, v := range rec.Artifacts {
		p.Versions = append(p.Versions, plan.VersionID(v.Version))
	}
	if n := len(p.Versions); p.A == "" && p.B == "" && n > 0 {
		if p.B = p.Versions[n-1]; n > 1 && !p.Change {
			p.A = p.Versions[n-2]
		}
	}
	a, okA := rec.Version(plan.VersionNumber(p.A))
	b, okB := rec.Version(plan.VersionNumber(p.B))
	if !okB || !okA && !(p.Change && p.A == "") {
		return notFound("%s has no versions %s and %s to compare", t.TaskID, plain.Line(p.A), plain.Line(p.B))
	}
	p.Title = string(t.TaskID) + " " + strings.TrimPrefix(p.A+" | "+p.B, " | ")
	from, to := a.Files, b.Files
	if p.Change {
		versions := []int{b.Version}
		if okA {
			versions = []int{a.Version, b.Version}
		}
		if from, to, err = export.Sides(r.Context(), s.Store, snap, t, versions); err != nil {
			return err
		}
	}
	if p.Files, err = s.changed(r, from, to, p.Whole, !p.Change); err != nil {
		return err
	}
	docs := export.DocumentsOf(r.Context(), s.Store, snap, t.TaskID)
	for _, rev := range rec.Reviews {
		// the task's page names what can't be read
		if doc, err := docs.Review(rev); err == nil && rev.Version == b.Version {
			place(p.Files, doc)
		}
	}
	return s.show(w, r, http.StatusOK, "compare", p)
}

// lines asks git how a file differs in two trees, regardless of the user's configuration.
func (s *Server) lines(ctx context.Context, c *change, from, to plan.OID, whole bool) (rows []pair, large bool,
	err error) {
	around := "--unified=4"
	if whole {
		around = "--unified=1000000"
	}
	out, err := s.Store.GitIn(ctx, gitstore.Invocation{Args: []string{
		"diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--text", around, string(from), string(to),
		"--", ":(top,literal)" + c.OldPath, ":(top,literal)" + c.Path,
	}})
	if err != nil {
		return nil, false, err
	}
	rows = sideBySide(string(out))
	if len(rows) > mostRows {
		return rows[:mostRows], true, nil
	}
	return rows, false, nil
}

// sideBySide makes rows of a unified diff: a removed line stands next to its replacement.
func sideBySide(diff string) []pair {
	var p pairing
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		var a, b int
		switch {
		case strings.HasPrefix(text, "@@ "):
			p.settle()
			if a, b = hunk(text); a > 1 || b > 1 {
				p.gap = true
			}
			p.a, p.b, p.begun = a, b, true
		case !p.begun || text == "":
		case text[0] == '-':
			p.out = append(p.out, text[1:])
		case text[0] == '+':
			p.in = append(p.in, text[1:])
		case text[0] == ' ':
			p.settle()
			p.row(pair{A: p.a, B: p.b, Left: plain.Text(text[1:]), Right: plain.Text(text[1:])})
			p.a, p.b = p.a+1, p.b+1
		}
	}
	p.settle()
	return p.rows
}

type pairing struct {
	rows    []pair
	a, b    int // the next line of each side
	out, in []string
	gap     bool
	begun   bool
}

func (p *pairing) row(r pair) {
	r.Gap, p.gap = p.gap, false
	p.rows = append(p.rows, r)
}

// settle pairs the removed lines with the added ones.
func (p *pairing) settle() {
	for i := range max(len(p.out), len(p.in)) {
		r := pair{Changed: true}
		if i < len(p.out) {
			r.A, r.Left = p.a, plain.Text(p.out[i])
			p.a++
		}
		if i < len(p.in) {
			r.B, r.Right = p.b, plain.Text(p.in[i])
			p.b++
		}
		p.row(r)
	}
	p.out, p.in = nil, nil
}

// hunk reads the first lines' numbers of "@@ -a,n +b,m @@".
func hunk(text string) (a, b int) {
	f := strings.Fields(text)
	if len(f) < 3 {
		return 1, 1
	}
	return number(f[1]), number(f[2])
}

func number(s string) int {
	first, _, _ := strings.Cut(strings.TrimLeft(s, "+-"), ",")
	n, _ := strconv.Atoi(first)
	return min(max(n, 1), 999_999_999) // a file may be said to have any number of lines
}
