// Package web is the page of git wf ui: a plan as a picture and as a list, each task with its versions and reviews, the
// history, and a person's decisions.
//
// It hides one decision: how a browser on the same machine may look at a plan and act on it, while no other
// page may, and nothing in the plan may. So every request must name a loopback host and carry a cookie that
// only the printed address gives. A request that changes something also needs the page's own token and origin
// (guard.go). A deliverable is served as a separate document without an origin (preview.go). The server makes
// the pages; the scripts in static/ only add to them.
//
// It does not decide what a command does (Commands of Options runs the same commands as the terminal, and git wf run in
// the background) or what a status is (internal/plan). It does not draw a plan (internal/graph) or read it
// (internal/gitstore). docs/ui.md describes how people use it.
package web
