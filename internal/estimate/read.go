package estimate

import (
	"encoding/json"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// Read reads a whole record.
func Read(data []byte) (rec Record, err error) {
	err = json.Unmarshal(data, &rec)
	return rec, err
}

// A record as plan.Document writes it: no string in it has a line break, so these are at one depth only.
const (
	beforeLeaves = "\n  \"estimates\": ["
	beforeLeaf   = "\n    {\n      \"task_id\": "
	afterLeaf    = "\n    }"
	afterLeaves  = "\n  ]\n}\n"
)

// Split cuts a record into what precedes the results and the result of each task: a plan of 10,000 leaves has a record
// of 7 MB. It cuts only the form that plan.Document writes.
func Split(data []byte) (head string, leaves map[plan.TaskID]string, ok bool) {
	head, rest, found := strings.Cut(string(data), beforeLeaves)
	leaves = map[plan.TaskID]string{}
	for more := found; more; rest, more = strings.CutPrefix(rest, ",") {
		leaf, after, ended := strings.Cut(rest, afterLeaf)
		start, begins := strings.CutPrefix(leaf, beforeLeaf)
		quoted, _, _ := strings.Cut(start, ",\n")
		id, err := strconv.Unquote(quoted)
		if !ended || !begins || err != nil || leaves[plan.TaskID(id)] != "" {
			return "", nil, false
		}
		leaves[plan.TaskID(id)], rest = leaf+afterLeaf, after
	}
	return head + beforeLeaves, leaves, found && rest == afterLeaves
}

// ReadLeaf reads a record with one result, which may be "", of those that Split cut.
func ReadLeaf(head, leaf string) (Record, error) { return Read([]byte(head + leaf + afterLeaves)) }
