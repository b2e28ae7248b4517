// Package terminal says how many columns of a terminal a text takes, and cuts texts to columns.
//
// Callers keep control characters out of what they show with internal/plain.
package terminal
