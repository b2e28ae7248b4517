package prompt

import (
	"fmt"
	"slices"
)

// If even the lines that name what was left out are too many, lists are cut, in this order. Notes and answers keep the
// newest entries, the others the first.
var lists = [...]struct {
	name string
	most func(d *Data) int                  // length of the list, or of the longest
	keep func(d *Data, n int) (gone []lost) // replaces the list by a shorter copy
}{
	{"notes, with what they are about", func(d *Data) int { return len(d.Notes) }, func(d *Data, n int) (gone []lost) {
		cut := max(len(d.Notes)-n, 0)
		for _, x := range d.Notes[:cut] {
			gone = append(gone, lost{fmt.Sprintf("note %d (%s)", x.Number, x.Category), x.Text})
		}
		d.Notes = d.Notes[cut:]
		return gone
	}},
	{"earlier answers, with their questions", func(d *Data) int {
		return len(d.Answers)
	}, func(d *Data, n int) (gone []lost) {
		cut := max(len(d.Answers)-n, 0)
		for _, x := range d.Answers[:cut] {
			gone = append(gone, lost{"answer to " + x.ID, x.Text})
		}
		d.Answers = d.Answers[cut:]
		return gone
	}},
	{"files of inputs, with their names", mostInputFiles, keepInputFiles},
	{"requirement files, with their names", func(d *Data) int {
		return len(d.Requirements)
	}, func(d *Data, n int) (gone []lost) {
		d.Requirements, gone = keepFiles("requirement", d.Requirements, n)
		return gone
	}},
	{"files under review, with their names", func(d *Data) int {
		if d.Candidate == nil {
			return 0
		}
		return len(d.Candidate.Files)
	}, func(d *Data, n int) (gone []lost) {
		c := *d.Candidate
		c.Files, gone = keepFiles(fmt.Sprintf("candidate v%d", c.Version), c.Files, n)
		d.Candidate = &c
		return gone
	}},
	{"leaves that are not asked about", func(d *Data) int { return len(d.Leaves) }, func(d *Data, n int) (gone []lost) {
		n = min(n, len(d.Leaves))
		for _, x := range d.Leaves[n:] {
			gone = append(gone, lost{"leaf " + string(x.ID), x.Description})
		}
		d.Leaves = d.Leaves[:n]
		return gone
	}},
}

// lost is a removed list entry.
type lost struct {
	what string
	text Text
}

func mostInputFiles(d *Data) int {
	most := 0
	for _, in := range d.Inputs {
		most = max(most, len(in.Files))
	}
	return most
}

// keepInputFiles keeps n files of each input.
func keepInputFiles(d *Data, n int) (gone []lost) {
	d.Inputs = slices.Clone(d.Inputs)
	for i := range d.Inputs {
		in := &d.Inputs[i]
		files, cut := keepFiles(in.what(), in.Files, n)
		in.Files = files
		gone = append(gone, cut...)
	}
	return gone
}

func keepFiles(what string, files []File, n int) (kept []File, gone []lost) {
	n = min(n, len(files))
	for _, f := range files[n:] {
		gone = append(gone, lost{what + ": " + f.Path, f.Text})
	}
	return files[:n], gone
}
