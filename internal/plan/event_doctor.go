package plan

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"time"

	"gitwf/internal/plain"
)

// doctorDir is where a plan's tree says what doctor has put right.
const doctorDir = "doctor"

// Mended is one thing that doctor has put right.
type Mended struct {
	Code   string `json:"code"`
	PlanID ID     `json:"plan_id,omitempty"` // "" for what belongs to no plan
	Place  string `json:"place"`
	Did    string `json:"did"`
}

// Mend records what doctor has put right, in a file below doctor/. It changes no status.
type Mend struct {
	Mended    []Mended  `json:"mended"`
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
}

// name is the record's file name below doctor/: its time, and a part of its hash, so that no two clones give one name
// to two of them.
func (e Mend) name() string {
	return fmt.Sprintf("%s-%x.json", e.CreatedAt.UTC().Format("20060102T150405Z"),
		sha1.Sum(Document(e)))[:len("20060102T150405Z-")+12] + ".json"
}

// Repairs says that a completed plan takes the event.
func (Mend) Repairs() {}

// Apply records it.
func (e Mend) Apply(*State) (Change, error) {
	var body strings.Builder
	for _, m := range e.Mended {
		fmt.Fprintf(&body, "%s %s: %s\n", m.Code, plain.Line(m.Place), plain.Line(m.Did))
	}
	return Change{
		Subject:  fmt.Sprintf("doctor: %s put right", plain.Count(len(e.Mended), "thing")),
		Body:     body.String(),
		Trailers: []Trailer{{"Wf-Event", eventDoctor}},
		Add:      []Entry{{Path: doctorDir + "/" + e.name(), Data: Document(e)}},
	}, nil
}
