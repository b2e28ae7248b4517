// Package setup connects one repository to the gate: it installs the hooks, makes the settings that go with plans, and
// notices when another tool has cut git off from the hooks.
//
// It hides which settings those are, and how it remembers what it has added, so that uninstalling removes only that. It
// does not own the hook scripts (hooks) or what they judge (internal/gate). docs/doctor.md lists its findings.
package setup
