package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Ratings are what a reviewer gives each dimension of a rubric, nil where it does not apply, or how many findings of
// each class there are.
type Ratings map[string]*float64

// Scored is the score that ratings give: 100 · Σ weight·rating / (scale · Σ weight), rounded down, so that a
// version never passes by rounding. A dimension that does not apply has no weight. With deductions it is 100 less
// Σ deduction·count, at least 0. Every dimension or class must be named.
func (r Rubric) Scored(given Ratings) (int, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := r.Weights()[name]; !ok {
			return 0, fmt.Errorf("the rubric has no dimension %q, but %s", name, strings.Join(r.Names(), ", "))
		}
	}
	sum, weights := new(big.Rat), new(big.Rat)
	for _, name := range r.Names() {
		rating, named := given[name]
		switch {
		case !named:
			return 0, fmt.Errorf("%s has no rating", name)
		case rating == nil && r.Counts():
			return 0, fmt.Errorf("%s: a rating is %s, found none", name, r.RatingForm(""))
		case rating == nil:
			continue
		case !(*rating >= 0 && *rating <= float64(cmp.Or(r.Scale, mostFindings))),
			r.Counts() && *rating != math.Trunc(*rating):
			return 0, fmt.Errorf("%s: a rating is %s, found %v", name, r.RatingForm("none"), *rating)
		}
		weight := decimal(r.Weights()[name])
		sum.Add(sum, new(big.Rat).Mul(weight, decimal(*rating)))
		weights.Add(weights, weight)
	}
	if r.Counts() {
		sum.Sub(big.NewRat(100, 1), sum)
		return max(int(new(big.Int).Quo(sum.Num(), sum.Denom()).Int64()), 0), nil
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

// Vetoed are the dimensions or classes whose ratings alone reject.
func (r Rubric) Vetoed(given Ratings) []string {
	return slices.DeleteFunc(r.Names(), func(name string) bool {
		limit, limited := r.Limits[name]
		switch rating := given[name]; {
		case rating == nil:
			return true
		case r.Counts():
			return !limited || *rating <= float64(limit)
		default:
			return r.Veto == 0 || *rating*100 > float64(r.Veto)*float64(r.Scale)
		}
	})
}

// VetoText says of a rubric's veto what the ratings did, "" if they reject nothing.
func (r *Rubric) VetoText(given Ratings) string {
	if r == nil || len(r.Vetoed(given)) == 0 {
		return ""
	}
	names := strings.Join(r.Vetoed(given), ", ")
	if r.Counts() {
		return "more findings than the limit: " + names
	}
	return fmt.Sprintf("%s at or below %d %% of the scale", names, r.Veto)
}

// mostFindings is the largest count of a class.
const mostFindings = 1000

// Counts reports whether the ratings are counts of findings.
func (r Rubric) Counts() bool { return r.Deductions != nil }

// RatingForm says what a rating is; none is the word for a dimension that does not apply.
func (r Rubric) RatingForm(none string) string {
	if r.Counts() {
		return fmt.Sprintf("the number of findings, from 0 to %d", mostFindings)
	}
	return fmt.Sprintf("from 0 to %d, or %s where it does not apply", r.Scale, none)
}

// Weights are those of the dimensions, or the deductions of the classes.
func (r Rubric) Weights() map[string]float64 {
	if r.Counts() {
		return r.Deductions
	}
	return r.Dimensions
}

// Names are the dimensions or classes, the heaviest first.
func (r Rubric) Names() []string {
	weights := r.Weights()
	return slices.SortedFunc(maps.Keys(weights), func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), strings.Compare(a, b))
	})
}

// Faults are what the form of a rubric can't say.
func (r Rubric) Faults() (fs Findings) {
	field, sum := "dimensions", 0.0
	if r.Counts() {
		field = "deductions"
	}
	for _, weight := range r.Weights() {
		sum += weight
	}
	if !(sum > 0) {
		fs = append(fs, Finding{Code: "weights-zero", Path: field, Message: "no dimension has a weight",
			Expected: "weights, one above 0", Found: "none", Example: field + ": {correctness: 60, completeness: 40}"})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		if _, ok := r.Deductions[name]; !ok {
			fs = append(fs, Finding{Code: "unknown-name", Path: "limits", Message: "names no class of the deductions",
				Expected: "one of " + strings.Join(r.Names(), ", "), Found: name})
		}
	}
	return fs
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
	switch veto := by.VetoText(r.Ratings); {
	case err != nil:
		return err
	case score != r.Score:
		return fmt.Errorf("its ratings give the score %d, not %d", score, r.Score)
	case r.Verdict == Approved && veto != "":
		return fmt.Errorf("can't be approved: %s, which is a veto", veto)
	}
	return nil
}
