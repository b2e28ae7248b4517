//go:build !linux

package repotest

func memory() string { return "" }
