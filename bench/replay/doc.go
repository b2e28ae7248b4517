// Command replay reads the saved development plans of a project whose orchestrator rewrites one Markdown file, and
// counts how their tasks moved from each version to the next.
//
//	go run -C bench ./replay DIR                       # the Markdown files of a directory
//	go run -C bench ./replay REPOSITORY 'PATHSPEC'     # those in the history of a repository
//
// It owns one decision: which moves are wrong.
package main
