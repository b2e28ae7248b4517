package check

import (
	"fmt"
	"strconv"

	"gitwf/internal/plan"
)

// Rate adds the rating of a dimension: a number, or "none" where it does not apply.
func (o *Opinion) Rate(dimension, value string) error {
	if o.Ratings == nil {
		o.Ratings = plan.Ratings{}
	}
	if _, twice := o.Ratings[dimension]; twice {
		return fmt.Errorf("rating %s: given twice", dimension)
	}
	if value == "none" {
		o.Ratings[dimension] = nil
		return nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0) {
		return fmt.Errorf("rating %s: expected a number, or none where it does not apply, found %q", dimension, value)
	}
	o.Ratings[dimension] = &n
	return nil
}

// Rule adds a ruling on one criterion; word is "pass", "fail", or "none" to leave it open.
func (o *Opinion) Rule(id, word, evidence string) error {
	result, ok := map[string]string{"pass": plan.ResultPass, "fail": plan.ResultFail,
		"none": plan.ResultNotJudged}[word]
	if !ok {
		return fmt.Errorf("criterion %s: expected pass, fail or none, found %q", id, word)
	}
	if o.Criteria == nil {
		o.Criteria = map[string]Ruling{}
	}
	o.Criteria[id] = Ruling{Result: result, Evidence: evidence}
	return nil
}
