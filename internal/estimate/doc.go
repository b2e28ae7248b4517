// Package estimate says how large a leaf ACTION is, in person-days, from what its plan declares.
//
// It hides one decision: how much work the words and numbers of a task stand for. The rule is a sum of weighted counts,
// times a factor for the kind of work; the weights are data (templates/estimate.yaml) that the user can change. Combine
// joins the rule with an agent's judgement, and Record is the document that keeps both.
//
// It does not own who asks the agent, when to split a leaf (internal/engine), or where to find templates. Everything
// here is pure. docs/decisions.md says what the numbers are for, under "Plans".
package estimate
