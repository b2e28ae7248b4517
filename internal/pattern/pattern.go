// Package pattern has regular expressions that cost nothing until they are used. A command uses few of the program's
// hundreds, and a hook runs with every commit: to compile all of them would be a third of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first asked for. It has no closure, so that the compiler
// lays out a package's patterns in the program's data and nothing runs at its start.
type Pattern struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// Compile returns the pattern of an expression as regexp.MustCompile takes it; Get panics if it is none.
func Compile(expr string) *Pattern { return &Pattern{expr: expr} }

// Get is the compiled expression. It may be called from several goroutines.
func (p *Pattern) Get() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.expr) })
	return p.re
}
