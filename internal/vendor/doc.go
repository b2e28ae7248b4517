// Package vendor says what each vendor's chat program reads of git wf: instructions, a skill, an MCP server, rules and
// hooks, which are files below templates/setup. It adds them to files that others keep, and takes them out again so
// that every byte of the rest is as before.
//
// It hides how a piece is told from what is not ours: by marks in texts, by a digest in files of our own, and in JSON
// by its value and where it stands.
package vendor
