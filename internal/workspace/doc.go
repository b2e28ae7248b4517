// Package workspace makes checkouts of the repository for attempts.
//
// It hides one decision: what a checkout shares with the repository that it comes from. Its objects and the settings
// that decide what files look like, and nothing else: who works there may use, change or destroy its git directory.
//
// It runs no hook; filters are those of the user's own configuration. It does not know tasks (internal/engine).
package workspace
