// Package prompt makes the text that an agent gets in one of its roles.
//
// It hides what a prompt consists of and how it keeps its budget: which template it uses, how it fences what others
// wrote so that it can't pass for the prompt itself, and what it leaves out first. It gathers nothing (the engine does)
// and knows no agent and no contract (it prints the one that it gets). It has no field for what a version's maker says
// about it: a reviewer must not see that. It reads only templates, from an fs.FS; the same data, templates and budget
// make the same prompt.
//
// The specification, and every field that a template can use, is docs/format/prompts.md.
package prompt
