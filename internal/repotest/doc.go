// Package repotest makes real repositories with plans, for tests of the packages that read them. Nothing that is
// shipped imports it.
//
// It hides one decision: how a test gets a plan's history without the engine and without the user's configuration.
// Forge uses plain git to make histories that the store itself would refuse. docs/format.md specifies the format of
// what it writes.
package repotest
