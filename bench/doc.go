// Command bench measures git wf against plain git, on the machine it runs on, and prints the ratios beside the goals.
//
//	go run -C bench .              # all of them
//	go run -C bench . -n 200 run   # one of them, smaller
//
// It decides what is compared with what; README.md says why that is fair and how to read the numbers. It owns nothing
// of the tool itself: it builds git-wf and starts it as a user would.
package main
