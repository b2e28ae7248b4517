package terminal

import "os"

func notifyJobs(chan<- os.Signal) {} // Windows has no such signals

// Stops reports whether a signal of Jobs asks the program to stop.
func Stops(os.Signal) bool { return false }

// Continues reports whether a signal of Jobs says that the program runs again.
func Continues(os.Signal) bool { return false }

func stopJob() error { return nil }
