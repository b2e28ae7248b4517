// Package watch is what git wf status --watch shows and how keys move in it: a model of views, from which the rows of a
// screen of any size follow. It is pure: plans, texts, keys and the time go in, rows and wishes come out. Who reads the plan,
// drives the terminal and carries a decision out is cmd/git-wf; what a key or a column is, is internal/terminal's.
package watch
