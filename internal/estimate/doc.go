// Package estimate says how large a leaf ACTION is, in person-days, from what its plan declares.
//
// It hides one decision: which words and numbers of a task stand for how much work. The rule is a sum of weighed counts
// and one factor for the kind of work; the weights are data (templates/estimate.yaml) which the user can change. Combine
// joins the rule with what an agent judged, and Record is the document that keeps both.
//
// It does not own: who asks the agent, when a leaf is split (internal/engine), and where templates are looked for. Everything
// here is pure. What the numbers are for stands in docs/decisions.md, under "Plans".
package estimate
