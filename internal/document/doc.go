// Package document reads YAML and JSON that other people and programs wrote into one tree of nodes with line numbers.
//
// It hides one decision: what is a document at all. encoding/json has no line numbers, lets the second of two equal
// keys win, matches keys whatever their case and replaces half surrogate pairs; yaml.v3 expands aliases unbounded.
// All of that matters for a file that somebody hands in. Each caller sets its own limits, and says which liberties its
// JSON may take. What the user alone sets up, such as a table of weights, goes straight into a struct (ReadSettings).
//
// It does not own what a document has to say: internal/plandoc, internal/contract and internal/exchange do, and they
// word what their readers are told where a Fault's own text is not enough. It is pure: text in, nodes out.
package document
