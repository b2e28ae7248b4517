// Package arch holds the picture of the code as a test: which package may import which, and what none may do;
// and how heavy the program may become.
//
// It hides nothing and has no code of its own. A package that is not in the test's table fails the test, so that
// nobody adds one without saying where it belongs. The map that people read is docs/map.md.
package arch
