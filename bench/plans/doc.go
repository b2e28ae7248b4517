// Command plans makes the table of what becomes of other people's plans: how many of them are runnable at once, whether
// their tasks, edges and statuses are those that a reader of its own counts, which lines have a home, and how many command
// lines come out of a document. Run it over a folder of anybody's files:
//
//	go run -C bench ./plans DIR
//
// Each directory and file below DIR in which git wf finds a plan is one source. The counting reader is simple on
// purpose, and shares nothing with the program.
package main
