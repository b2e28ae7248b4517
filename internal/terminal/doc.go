// Package terminal drives a terminal: how many columns a text takes, which keys its bytes mean, and how to take a whole
// screen over, draw on it and restore it, however the program ends.
//
// Callers decide what to draw and keep control characters out of it with plain.Text and Text. The sequences are
// those of ECMA-48 and the xterm control sequences that every current terminal has.
package terminal
