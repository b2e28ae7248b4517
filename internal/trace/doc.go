// Package trace reads which goal each item of a specification comes from: goals, requirements, decisions, epics and
// stories in Markdown, and the links between them.
//
// It hides what an item and a link look like, and which gaps there can be. It reads texts that anybody may have
// written: its time grows with their length alone. Everything is pure.
package trace
