package process

import "os"

// Scratch makes a temporary directory for what is about no repository. Work on one has gitstore's.
func Scratch() (string, error) { return os.MkdirTemp("", "git-wf-") }
