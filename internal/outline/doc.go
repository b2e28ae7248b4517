// Package outline cuts Markdown into headings, items and the lines below them.
//
// It hides one decision: which line of a text belongs to which heading or item. It says nothing of what these mean
// (internal/exchange for other systems, internal/plandoc for git wf's own form): no line is dropped, and each knows its
// number. It is no parser of all of Markdown: what it does not know is a line of prose. Everything is pure.
package outline
