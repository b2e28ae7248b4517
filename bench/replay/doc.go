// Command replay reads the saved development plans of a project whose orchestrator rewrites one Markdown file, counts
// how their tasks moved from each version to the next, and tries the moves that nobody should make on plans of git wf
// that are in the same state.
//
//	go run -C bench ./replay DIR                       # the Markdown files of a directory
//	go run -C bench ./replay REPOSITORY 'PATHSPEC'     # those in the history of a repository
//	go run -C bench ./replay -count REPOSITORY ...     # only count
//
// It owns two decisions: which moves are wrong, and by which ways they are tried. Each must be refused, or wait for a
// person; one that is taken is a finding, and the command ends with 1.
package main
