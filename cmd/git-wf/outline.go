package main

import (
	"gitwf/internal/agent"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// outlineReads refuses what the outline planner can't read: it gives the same answer to the same text every time.
func (e *env) outlineReads(task string, attached []string) error {
	name, data := "what is to be made", []byte(task)
	for _, file := range attached {
		if !agent.IsMarkdown(file) {
			continue
		}
		var err error
		if data, err = e.readInput(file, maxPlanFile); err != nil {
			return unreadable(plain.Line(file), err, "git wf plan --attach FILE")
		}
		name = plain.Line(file)
		break
	}
	if _, findings := agent.Outline(name, data); len(findings) > 0 {
		return fault.Usage("the planner outline reads Markdown with boxes (- [ ]) or milestones and tasks: mend "+
			"it, or have an agent plan it with --planner AGENT (git wf agents lists them)",
			"%w", findings)
	}
	return nil
}
