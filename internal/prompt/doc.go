// Package prompt makes the text that an agent is told in one of its roles.
//
// It hides what a prompt is made of and how it is kept within its budget: which template is taken, how what others wrote
// is set apart so that it can't pass for the prompt itself, and what is left out first when there is too much. It gathers
// nothing (the engine does), knows no agent and no contract (it prints the one that it is given), and has no field for
// what the maker of a version says about it: a reviewer must not see that. It reads templates from an fs.FS and nothing
// else; the same data, templates and budget make the same prompt.
//
// The specification, and every field that a template can use, is docs/prompts.md.
package prompt
