// Package caller says who runs the program: a person, somebody's agent, or nobody who could answer.
//
// It hides one decision: by what an agent is known. Its vendor's mark is in the environment of what it runs, and the
// vendor's program is among the processes that led to it; a child that clears its own environment still has ancestors.
// Who leaves both behind, in a session and an environment of its own, is not found: docs/agents.md.
package caller
