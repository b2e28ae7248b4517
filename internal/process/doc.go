// Package process runs one command line within limits of time and output.
//
// It hides one decision: how a child and everything it started is bounded. A run ends when its main process has ended,
// its time is up, it prints without end, or the caller gives up; in every case the whole process group (on Windows:
// the job) is gone afterwards, and no descendant that keeps the output open can hold the caller up.
//
// One kind of descendant gets away: on unix, a process that starts a session of its own (setsid) leaves the group. It
// is not waited for and its output goes nowhere, but it is not killed.
//
// It does not own: which command lines may run at all (trust), what they are told in their environment
// (internal/agent, internal/check), what their result means. The specification is docs/format.md.
package process
