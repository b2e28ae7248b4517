package estimate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"gitwf/internal/plan"
)

// Read reads a record with the result of one task: for the planning task every leaf, for another task only that one. A
// plan of 10,000 leaves has a record of 7 MB, so Read cuts the one leaf out if the record has the form of
// plan.Document, and parses any other form as a whole.
func Read(data []byte, id plan.TaskID) (Record, error) {
	var rec Record
	if part, ok := only(data, id); ok && json.Unmarshal(part, &rec) == nil && len(rec.Tasks) == 1 &&
		rec.Tasks[0].TaskID == id && rec.TaskID != id {
		return rec, nil
	}
	rec = Record{}
	if err := json.Unmarshal(data, &rec); err != nil {
		return Record{}, err
	}
	if rec.TaskID != id {
		rec.Tasks = slices.DeleteFunc(rec.Tasks, func(t TaskResult) bool { return t.TaskID != id })
	}
	return rec, nil
}

// only returns the document with a single leaf.
func only(data []byte, id plan.TaskID) (part []byte, ok bool) {
	const list, begin, end = `"estimates": [`, "\n    {\n      \"task_id\": ", "\n    }"
	head, leaves, found := bytes.Cut(data, []byte(list))
	from := bytes.Index(leaves, []byte(begin+strconv.Quote(string(id))+","))
	if !found || from < 0 {
		return nil, false
	}
	leaf, _, found := bytes.Cut(leaves[from:], []byte(end))
	return slices.Concat(head, []byte(list), leaf, []byte(end+"]}")), found
}
