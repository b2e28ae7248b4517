package exchange

import (
	"strconv"
	"strings"

	"gitwf/internal/pattern"
)

const hoursADay = 8

var effort = pattern.Compile(`(?i)^\s*~?\s*([0-9]{1,5}(?:\.[0-9]{1,3})?)\s*(?:-\s*([0-9]{1,5}(?:\.[0-9]{1,3})?))?\s*(m|min|mins|minutes?|h|hr|hrs|hours?|d|days?|person-days?|pd|w|weeks?)\s*$`)

// days converts an effort in words ("4h", "2-3 days") to person-days of eight hours; zero if it is none. The end of a
// span counts.
func days(s string) float64 {
	m := effort.Get().FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	if to, err := strconv.ParseFloat(m[2], 64); err == nil {
		n = max(n, to)
	}
	switch strings.ToLower(m[3])[0] {
	case 'm':
		n /= 60 * hoursADay
	case 'h':
		n /= hoursADay
	case 'w':
		n *= 5
	}
	return min(n, 10_000)
}
