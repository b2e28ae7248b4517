// Package engine is the loop: find what is ready, claim it, have it done, record the outcome.
//
// It hides one decision: the order of steps for a task, so that nothing reported as done is lost and nothing is done
// twice. plan.Derive says what is ready, agent does the work, check judges a candidate, and gitstore records an event.
// The engine keeps no state between two steps: it can be killed at any moment, and the next run continues from the
// records.
package engine
