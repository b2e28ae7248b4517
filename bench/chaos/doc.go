// Command chaos is the long form of what internal/chaostest tests in short: it brings about faults until it has had so
// many of each kind, and prints a table with the counts.
//
//	go run -C bench ./chaos                       # everything; for hours
//	go run -C bench ./chaos -kills 1000 random    # a thousand kills at random moments
//	go run -C bench ./chaos -every 10 points      # every tenth call of each step, with every fault
//	go run -C bench ./chaos -n 100000 gate        # generated pushes, judged by the gate and by a slow checker
//	go run -C bench ./chaos -n 20000 people       # what a team of three does, which nobody may refuse
//
// It decides how often; what a fault is, and what must hold after it, internal/chaostest and internal/attacktest decide.
package main
