// Package hooks installs the gate in git's hooks, and removes it again.
//
// It hides one decision: how git runs `git wf hook NAME` together with the hooks that a team already has. There are
// two ways, and Install picks the first that fits:
//
//   - section: a marked section at the top of the hook file. It runs the rest of the file first, as a child, so that no
//     `exit` or `exec` in there skips the gate, and then judges the result.
//   - dispatcher: if a hook can't be edited (another language, a binary, a symbolic link, not executable, ends in exec)
//     or the directory does not belong to this repository alone (core.hooksPath names a place outside the git
//     directory), core.hooksPath becomes <common git dir>/wf/hooks, whose scripts call the original in its place.
//
// Existing hooks are never moved, copied or renamed, and later edits to them take effect.
//
// Strict mode adds reference-transaction, which sees nearly every move of a branch or of a plan's ref. There the gate
// judges first, since nothing that the repository's own hook does changes what the move brings; then that hook
// continues in the same shell, with its input restored. A server is a bare repository that gets pre-receive, in the
// same two ways.
//
// The scripts use git alone to decide whether anything protected is touched, and start the program only then. They hold
// the protected roots as pathspecs, in every spelling that some file system takes for the same name (Pathspecs), and by
// the names that HFS+ and NTFS take for them (Globs), so Install must run again when the policy's roots change. The
// pathspecs miss mixed cases of a long root outside ASCII; only the program finds those.
//
// It does not own what may land (internal/gate), nor the policy that names the roots. The specification is
// docs/format.md.
package hooks
