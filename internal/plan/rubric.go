package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Ratings are what a reviewer gives each dimension of a rubric; nil where a dimension does not apply.
type Ratings map[string]*float64

// Scored is the score that ratings give: 100 · Σ weight·rating / (scale · Σ weight), rounded down, so that a
// version never passes by rounding. A dimension that does not apply has no weight. Every dimension must be named.
func (r Rubric) Scored(given Ratings) (int, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := r.Dimensions[name]; !ok {
			return 0, fmt.Errorf("the rubric has no dimension %q, but %s", name, strings.Join(r.Names(), ", "))
		}
	}
	sum, weights := new(big.Rat), new(big.Rat)
	for _, name := range r.Names() {
		rating, named := given[name]
		switch {
		case !named:
			return 0, fmt.Errorf("%s has no rating", name)
		case rating == nil:
			continue
		case !(*rating >= 0 && *rating <= float64(r.Scale)):
			return 0, fmt.Errorf("%s: a rating is from 0 to %d, found %v", name, r.Scale, *rating)
		}
		weight := decimal(r.Dimensions[name])
		sum.Add(sum, new(big.Rat).Mul(weight, decimal(*rating)))
		weights.Add(weights, weight)
	}
	if weights.Sign() <= 0 || r.Scale < 1 {
		return 0, fmt.Errorf("no dimension applies: rate one of %s", strings.Join(r.Names(), ", "))
	}
	sum.Mul(sum, big.NewRat(100, int64(r.Scale)))
	sum.Quo(sum, weights)
	return int(new(big.Int).Quo(sum.Num(), sum.Denom()).Int64()), nil
}

// decimal is a number as its digits say: 7.1 is 71/10.
func decimal(f float64) *big.Rat {
	n, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return n
}

// Vetoed are the dimensions whose ratings alone reject.
func (r Rubric) Vetoed(given Ratings) []string {
	var names []string
	for _, name := range r.Names() {
		rating := given[name]
		if r.Veto > 0 && rating != nil && *rating*100 <= float64(r.Veto)*float64(r.Scale) {
			names = append(names, name)
		}
	}
	return names
}

// Names are the dimensions, the heaviest first.
func (r Rubric) Names() []string {
	return slices.SortedFunc(maps.Keys(r.Dimensions), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Dimensions[b], r.Dimensions[a]), strings.Compare(a, b))
	})
}

// checkRatings checks that a review's score is the one that its ratings give, by the rubric of the task's CHECK.
func (r Review) checkRatings(by *Rubric) error {
	switch {
	case by == nil && r.Rubric == nil && len(r.Ratings) == 0:
		return nil
	case by == nil:
		return fmt.Errorf("it has ratings, but its score comes from no rubric")
	case len(r.Ratings) == 0 && r.Verdict == Rejected:
		return nil
	case len(r.Ratings) == 0:
		return fmt.Errorf("can't be approved without ratings of %s", strings.Join(by.Names(), ", "))
	case r.Rubric == nil || !reflect.DeepEqual(r.Rubric, by):
		return fmt.Errorf("its rubric changed while it was reviewed")
	}
	score, err := by.Scored(r.Ratings)
	switch vetoed := by.Vetoed(r.Ratings); {
	case err != nil:
		return err
	case score != r.Score:
		return fmt.Errorf("its ratings give the score %d, not %d", score, r.Score)
	case r.Verdict == Approved && len(vetoed) > 0:
		return fmt.Errorf("can't be approved: %s at or below %d %%, which is a veto",
			strings.Join(vetoed, ", "), by.Veto)
	}
	return nil
}
