//go:build !linux || !amd64

package chaostest

// Run fails with ErrNoTrace.
func (*Traced) Run() (*Observed, error) { return nil, ErrNoTrace }

// commitsInOrder is never called where nothing can be traced.
func commitsInOrder(string) bool { return false }
