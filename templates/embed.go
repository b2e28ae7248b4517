// Package templates holds what is data and not code: the prompts that agents get, the weights of the estimate, who does
// which kind of task, the types that a plan can begin with, and the plan that git wf demo plays.
//
// It hides nothing but where the files are: they are part of the program. Who fills them in decides what they are given
// (internal/agent
// for prompts, internal/estimate for weights).
package templates

import "embed"

// FS has the templates under the names that they have in this directory.
//
//go:embed prompts demo types estimate.yaml assign.yaml
var FS embed.FS
