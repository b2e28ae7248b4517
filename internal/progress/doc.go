// Package progress shows on a terminal what is under way: the tasks of a run, and how far long work on files has come.
//
// It hides how lines are drawn over each other, and how often. It does not own what is worked on (internal/engine).
package progress
