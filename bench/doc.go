// Command bench measures git wf against plain git on this machine, and prints the ratios next to the goals.
//
//	go run -C bench .              # all of them
//	go run -C bench . -n 200 run   # one of them, smaller
//
// It decides what to compare; README.md says why that is fair and how to read the numbers. It owns no part of the tool:
// it builds git-wf and starts it as a user would.
package main
