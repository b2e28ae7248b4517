// Package check is how a candidate is judged: it runs the criteria's run lines on copies of the candidate, turns
// results and a person's words into a review, and writes the review file that people read.
//
// It hides one decision: how evidence comes about. The rules that a verdict must follow are plan's (plan.Judge,
// plan.AddReview); who claims a CHECK and records the outcome is engine's. The specification is docs/format.md.
package check
