// Package pattern provides regular expressions that cost nothing until their first use. A command uses few of the
// program's hundreds, and a hook runs at every commit: compiling all of them would take a third of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled on first use. It contains no closure, so the compiler puts a
// package's patterns into static data and nothing runs at start.
type Pattern struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// Compile returns a pattern for an expression of regexp.MustCompile; Get panics if it does not compile.
func Compile(expr string) *Pattern { return &Pattern{expr: expr} }

// Get returns the compiled expression. Several goroutines may call it.
func (p *Pattern) Get() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.expr) })
	return p.re
}
