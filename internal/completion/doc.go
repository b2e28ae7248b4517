// Package completion makes the scripts that complete git wf in bash, zsh and fish.
//
// It hides what each shell needs. What completes an operand follows from the word that a command's help has for it, so
// a new command needs nothing here.
package completion
