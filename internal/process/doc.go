// Package process runs one command line within limits of time and output.
//
// It hides one decision: how to limit a child and everything it started. A run ends when its main process ends, its
// time is up, it prints too much, or the caller cancels it. In every case the whole process group (on Windows: the job)
// is dead afterwards, and no descendant that keeps the output open can block the caller.
//
// One kind of descendant escapes: on unix, a process that starts its own session (setsid) leaves the group. Run does
// not wait for it and drops its output, but does not kill it.
//
// It does not own which command lines may run at all (trust), what their environment tells them (internal/agent,
// internal/check), or what their result means. The specification is docs/format.md.
package process
