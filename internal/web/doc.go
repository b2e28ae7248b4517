// Package web is the page of git wf ui: a plan as a picture and as a list, each task with its versions and reviews, the
// history, and what a person decides.
//
// It hides one decision: how a browser on the same machine may look at a plan and act on it while no other page, and
// nothing that a plan brings along, may. So every request has to name a loopback host and carry a cookie that only the
// printed address gives; what changes something needs the page's own token and origin too (guard.go); and a deliverable
// is served as a document of its own that has no origin (raw.go). Pages are made on the server; the scripts in static/
// only add to them.
//
// It does not own: what a command does (Commands of Options runs the same commands as the terminal), what a status is
// (internal/plan), how a plan is drawn (internal/graph), how it is read (internal/gitstore). How people use it is in
// docs/ui.md.
package web
