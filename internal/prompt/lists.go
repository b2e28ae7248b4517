package prompt

import (
	"fmt"
	"slices"
)

// If even the lines that name what was left out are too many, lists are cut, in this order. Notes and answers keep the
// newest entries, the others the first.
var lists = [...]struct {
	name string
	keep func(d *Data, n int) (gone []lost) // replaces the list by a copy with n entries at most
}{
	{"notes, with what they are about", func(d *Data, n int) []lost {
		return keepNewest(&d.Notes, n, func(x Note) lost {
			return lost{fmt.Sprintf("note %d (%s)", x.Number, x.Category), x.Text}
		})
	}},
	{"earlier answers, with their questions", func(d *Data, n int) []lost {
		return keepNewest(&d.Answers, n, func(x Answer) lost { return lost{"answer to " + x.ID, x.Text} })
	}},
	{"files of inputs, with their names", func(d *Data, n int) (gone []lost) {
		d.Inputs = slices.Clone(d.Inputs)
		for i := range d.Inputs {
			gone = append(gone, keepFiles(&d.Inputs[i].Files, n, d.Inputs[i].what())...)
		}
		return gone
	}},
	{"requirement files, with their names", func(d *Data, n int) []lost {
		return keepFiles(&d.Requirements, n, "requirement")
	}},
	{"files under review, with their names", func(d *Data, n int) []lost {
		if d.Candidate == nil {
			return nil
		}
		c := *d.Candidate
		d.Candidate = &c
		return keepFiles(&c.Files, n, fmt.Sprintf("candidate v%d", c.Version))
	}},
	{"leaves that are not asked about", func(d *Data, n int) []lost {
		return keepFirst(&d.Leaves, n, func(x Leaf) lost { return lost{"leaf " + string(x.ID), x.Description} })
	}},
}

// lost is a removed list entry.
type lost struct {
	what string
	text Text
}

// keepFirst leaves the first n entries of a list, and says what the others were.
func keepFirst[T any](list *[]T, n int, say func(T) lost) (gone []lost) {
	n = min(n, len(*list))
	for _, x := range (*list)[n:] {
		gone = append(gone, say(x))
	}
	*list = (*list)[:n]
	return gone
}

// keepNewest leaves the last n entries of a list, and says what the others were.
func keepNewest[T any](list *[]T, n int, say func(T) lost) []lost {
	cut := max(len(*list)-n, 0)
	kept := (*list)[cut:]
	gone := (*list)[:cut]
	*list = kept
	return keepFirst(&gone, 0, say)
}

func keepFiles(files *[]File, n int, what string) []lost {
	return keepFirst(files, n, func(f File) lost { return lost{what + ": " + f.Path, f.Text} })
}
