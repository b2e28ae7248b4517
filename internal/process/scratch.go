package process

import "os"

// Scratch makes a temporary directory for work outside any repository. Package gitstore makes those for work on a
// repository.
func Scratch() (string, error) { return os.MkdirTemp("", "git-wf-") }
