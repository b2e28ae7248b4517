// Package pattern has regular expressions that cost nothing until they are used. A command uses few of the program's hundreds, and
// a hook runs with every commit: compiling all of them would be a third of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first asked for.
type Pattern struct{ get func() *regexp.Regexp }

// Compile returns the pattern of an expression as regexp.MustCompile takes it; Get panics if it is none.
func Compile(expr string) Pattern {
	return Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// Get is the compiled expression. It may be called from several goroutines.
func (p Pattern) Get() *regexp.Regexp { return p.get() }
