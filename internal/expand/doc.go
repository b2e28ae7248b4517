// Package expand says what the workflow of a plan makes of what the plan has so far.
//
// It hides where that comes from: the workflow's files and its params are inputs of PLAN-1, and what fills a GOAL
// follows from an approved version of another task. So who made a plan, who reviews it and who audits it come to the
// same bytes. What a workflow means belongs to internal/workflow.
package expand
