// Package watch is what git wf status --watch shows and how keys move in it: a model of views that determines the rows
// of a screen of any size. It is pure: plans, texts, keys and the time go in, rows and wishes come out. cmd/git-wf
// reads the plan, drives the terminal and carries out decisions; internal/terminal defines keys and columns.
package watch
