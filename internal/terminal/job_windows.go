package terminal

import "os"

func notifyJobs(chan<- os.Signal) {} // there are no such signals here

// Stops reports whether a signal of Jobs is the one to stop.
func Stops(os.Signal) bool { return false }

// Continues reports whether a signal of Jobs says that the program goes on.
func Continues(os.Signal) bool { return false }

func stopJob() error { return nil }
