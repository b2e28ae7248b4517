// Package graph draws a plan: as text, as Mermaid, as DOT and as SVG.
//
// It hides two decisions: what a plan looks like (which mark, shape and colour stands for a status, how the kinds of
// edges are told apart) and how its parts are placed: in layers, inside of which few edges cross. Place bounds the
// work, whatever the plan. Whatever a plan says is text in every format: each has its own escaping.
//
// It does not own: what a status is (internal/plan), and where a picture goes (cmd). The words are those of
// docs/format.md; the command is in docs/git-wf.1.
package graph
