// Package engine is the loop: what is ready, claim it, have it done, record what came of it.
//
// It hides one decision: in which order things are done to a task, so that nothing reported as done is lost and nothing
// is done twice. What is ready follows from plan.Derive; who does the work is agent's, how a candidate is judged is
// check's, and how an event is recorded is gitstore's. The engine keeps no state between two steps: it can be killed at
// any moment, and the next run goes on from what is recorded.
package engine
