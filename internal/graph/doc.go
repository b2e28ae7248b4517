// Package graph draws a plan: as text, as Mermaid and as SVG.
//
// It hides two decisions: what a plan looks like (the mark, shape and colour of a status, the looks of the kinds of
// edges), and where its parts go: in layers, with few crossing edges. Place bounds the work for any plan. What a plan
// says stays text in every format: each escapes it in its own way.
//
// It does not own: what a status is (internal/plan), and where a picture goes (cmd). The words are those of
// docs/format.md; the command is in docs/git-wf.1.
package graph
