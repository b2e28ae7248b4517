package export

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Remark is what a review says of one line of a changed file. A review names it as PATH:LINE, in any of its texts.
type Remark struct {
	Path, Text         string
	Line               int
	ReviewID, Reviewer string
}

// Remarks finds the lines that a review names, of the files that its version changes.
func Remarks(r plan.Review, paths []string) []Remark {
	texts := []string{r.Reason}
	for _, c := range r.Criteria {
		if c.Evidence != "" {
			texts = append(texts, c.ID+": "+c.Evidence)
		}
	}
	for _, s := range r.Suggestions {
		texts = append(texts, s.Text)
	}
	var found []Remark
	for _, text := range texts {
		for line := range strings.Lines(text) {
			for _, path := range paths {
				if n := lineNamed(line, path); n > 0 {
					found = append(found, Remark{path, plain.Line(strings.TrimSpace(line)), n, r.ReviewID, r.Who()})
				}
			}
		}
	}
	return found
}

var lineNumber = pattern.Compile(`:([0-9]{1,9})`)

// lineNamed returns the line of a file that a text names, 0 if none. The path may not be the end of a longer one.
func lineNamed(text, path string) int {
	for _, m := range lineNumber.Get().FindAllStringSubmatchIndex(text, -1) {
		before, named := strings.CutSuffix(text[:m[0]], path)
		if named && (before == "" || strings.ContainsRune(" \t\"'`(<[,;:", rune(before[len(before)-1]))) {
			n, _ := strconv.Atoi(text[m[2]:m[3]])
			return n
		}
	}
	return 0
}

func changedPaths(a plan.Artifact) []string {
	return each.Of(plandoc.ChangedFiles(a.Files), func(f plandoc.ChangedFile) string { return f.Path })
}

// LinesOf counts the lines of the first of these files that is there; ok is false if none is, or it has no lines.
func LinesOf(ctx context.Context, store reader, tree plan.OID, names ...string) (lines int, ok bool) {
	for _, name := range names {
		data, err := store.ReadFile(ctx, tree, name)
		if err != nil {
			continue // such as a submodule
		}
		lines := bytes.Count(data, []byte("\n"))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			lines++
		}
		return lines, true
	}
	return 0, false
}

// CheckRemarks refuses a review that names a line which a changed file does not have.
func CheckRemarks(ctx context.Context, store reader, a plan.Artifact, r plan.Review) error {
	for _, m := range Remarks(r, changedPaths(a)) {
		lines, ok := LinesOf(ctx, store, a.Tree, gitstore.ChangeAfter+"/"+m.Path, gitstore.ChangeBefore+"/"+m.Path)
		if ok && m.Line > lines {
			return fault.Usage("git wf diff "+string(a.TaskID)+" "+a.ArtifactID, "%s: %s has %s in %s",
				plain.Line(m.Text),
				plain.Line(m.Path), plain.Count(lines, "line"), a.ArtifactID)
		}
	}
	return nil
}
