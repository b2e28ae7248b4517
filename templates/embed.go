// Package templates holds what is data and not code: the prompts that agents get, the weights of the estimate, who does
// which kind of task, the types that a plan can begin with, and the plan that git wf demo plays.
//
// It hides nothing but where the files are: they are part of the program. Who fills them in decides what they are given
// (internal/agent for
// prompts, internal/estimate for weights).
package templates

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"gitwf/internal/each"
)

// FS has the templates under the names that they have in this directory.
//
//go:embed prompts demo setup types workflows estimate.yaml assign.yaml rules.yaml
var FS embed.FS

// TypeDir is where the types of plans are.
const TypeDir = "types"

// WorkflowDir is where the workflows are, each in a file of its name.
const WorkflowDir = "workflows"

// Routes says for which sentences each workflow of the program is, and what may follow it.
//
//go:embed routes.yaml
var Routes []byte

// TypeNames are the types that the program has, as a list for people.
func TypeNames() string {
	files, _ := fs.Glob(FS, TypeDir+"/*.yaml") // the pattern is sound
	names := each.Of(files, func(f string) string { return strings.TrimSuffix(path.Base(f), ".yaml") })
	return strings.Join(names, ", ")
}
