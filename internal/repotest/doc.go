// Package repotest makes real repositories with plans in them, for the tests of the packages that read such
// repositories. Nothing that is shipped imports it.
//
// It hides one decision: how a test gets a plan's history without the engine and without the user's configuration.
// Histories that the store itself would refuse are made with plain git (Forge). The format of what it writes is
// specified in docs/format.md.
package repotest
