// Package md2man stands in for the converter of the same path, which github.com/urfave/cli/v2 needs for manual pages
// that it generates. The page of git wf is docs/git-wf.1, so nobody calls it, and the program links no second Markdown
// parser that sets itself up at every start. The library's build tag urfave_cli_no_docs does the same, but a bare
// `go run` would not know of it; see go.mod.
package md2man

// Render panics: nothing in the program generates a page.
func Render([]byte) []byte { panic("no manual page is generated here; see docs/git-wf.1") }
