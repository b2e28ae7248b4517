package outline

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used: few commands read an outline, and compiling all
// of them would slow the start of every one.
type pattern struct{ get func() *regexp.Regexp }

func compile(expr string) pattern {
	return pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}
