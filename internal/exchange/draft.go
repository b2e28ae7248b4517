package exchange

import (
	"bytes"
	"fmt"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Draft is a plan that was read as a plan file in YAML, or in JSON where it has characters that YAML can't hold. It
// fails with Findings if the plan does not fit the form of a plan file, which no plan of Read does.
func (i *Imported) Draft() ([]byte, error) {
	data, err := plandoc.Encode(i.Plan)
	if err != nil {
		return nil, err
	}
	want, err := stored(i.Path, data)
	if err != nil {
		return nil, err
	}
	if text, err := plandoc.WriteYAML(i.Plan); err == nil {
		if got, err := stored(i.Path, text); err == nil && bytes.Equal(want, got) {
			data = text
		}
	}
	if len(data) > plandoc.MaxFileBytes {
		return nil, plan.Findings{{Code: "too-large", File: i.Path,
			Message: fmt.Sprintf("the plan has more than %d MiB", plandoc.MaxFileBytes>>20)}}
	}
	return data, nil
}

// stored is what plan.json would be if the file were handed in.
func stored(name string, data []byte) ([]byte, error) {
	p, err := plandoc.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return plandoc.Encode(p)
}
