// Package terminal knows how a terminal is driven: how many columns a text takes, which keys its bytes are, and how a whole
// screen is taken over, drawn and given back, whatever ends the program.
//
// What is drawn is its callers' affair, and so is keeping control characters out of it: plan.Printable and Text do that.
// The sequences are those of ECMA-48 and of xterm's control sequences that every terminal of today has.
package terminal
