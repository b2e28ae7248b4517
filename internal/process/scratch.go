package process

import (
	"fmt"
	"os"
)

// Scratch makes a temporary directory. Its name has the number of this process in it, so that git wf doctor knows one that
// was left over by a process which is gone.
func Scratch() (string, error) {
	return os.MkdirTemp("", fmt.Sprintf("git-wf-%d-", os.Getpid()))
}
