// Package secret takes secrets out of texts and records.
//
// It hides one decision: what a key or a password looks like, and what a record may lose with it. Everything here is
// pure: the environment is an argument.
package secret
