//go:build !unix

package plan

import "time"

var processStart = time.Now()

// processorTime is the time since the process began: this system's package syscall does not tell what it used.
func processorTime() time.Duration { return time.Since(processStart) }
