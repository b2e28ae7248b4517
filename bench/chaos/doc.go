// Command chaos is the long form of the tests of internal/chaostest and internal/attacktest: it injects faults until it
// has enough of each kind, and prints a table with the counts.
//
//	go run -C bench ./chaos                       # everything; for hours
//	go run -C bench ./chaos -kills 1000 random    # a thousand kills at random moments
//	go run -C bench ./chaos -kills 10000 again    # ten thousand kills, each followed by the same command again
//	go run -C bench ./chaos faults                # what a user sees of each fault
//	go run -C bench ./chaos -every 10 points      # every tenth call of each step, with every fault
//	go run -C bench ./chaos -n 100000 gate        # generated pushes, judged by the gate and by a slow checker
//	go run -C bench ./chaos -n 20000 people       # what a team of three does, which nobody may refuse
//	go run -C bench ./chaos -n 100000 code        # pushes of protected code, judged by the gate and by counting lines
//	go run -C bench ./chaos -n 20000 steps        # legal steps with it: none is refused without a hint that leads on
//
// It decides how often. The packages internal/chaostest and internal/attacktest decide what a fault is and what must
// hold after it.
package main
