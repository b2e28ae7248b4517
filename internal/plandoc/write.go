package plandoc

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"gitwf/internal/plan"
)

// WriteYAML gives a plan in the form that people write: without the tasks that make plans, without the CHECKs that
// Parse would add by itself, and without the root if all of it can stand at the top. Parse reads it
// back as the same plan, its planning tasks and grafts apart.
func WriteYAML(p *plan.Plan) ([]byte, error) {
	data, err := Encode(asWritten(p))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(escaped(data), &doc); err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.PlanID, err)
	}
	top := doc.Content[0]
	arrange(top, "title", "top_task", "plan_id", "config", "root_task_id")
	if tasks := field(top, "tasks"); tasks != nil {
		for _, t := range tasks.Content {
			arrange(t, "task_id", "node_type", "title", "description", "parent_task_id", "depends_on", "agent", "run",
				"estimated_person_days", "deliverable_spec", "covers", "acceptance_criteria")
		}
	}
	plainStyle(&doc)
	if data, err = MarshalYAML(&doc); err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.PlanID, err)
	}
	return data, nil
}

// escaped is JSON in which YAML, too, reads every text as it is: it refuses some controls, and folds U+0085 like the
// end of a line.
func escaped(data []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(data) {
		if r >= 0x7f && r <= 0x9f || r == '\ufeff' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// MarshalYAML is a document in YAML, as this program writes it: doc is a YAML node, or a struct whose fields have yaml
// tags.
func MarshalYAML(doc any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(doc)
	return b.Bytes(), err
}

// written returns the plan without what Parse adds.
func asWritten(p *plan.Plan) *plan.Plan {
	w := *p
	w.Tasks, w.Grafts = nil, nil
	tasks := p.Index()
	for _, t := range p.Tasks {
		target := tasks.Task(t.ReviewTargetTaskID)
		switch {
		case t.TaskID.Reserved():
		case t.NodeType == plan.Check && target != nil && reflect.DeepEqual(t, defaultCheck(target)):
		default:
			w.Tasks = append(w.Tasks, t)
		}
	}
	return &w
}

func field(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// arrange puts the keys of a mapping into the order in which people read them; the others follow.
func arrange(m *yaml.Node, first ...string) {
	if m.Kind != yaml.MappingNode {
		return
	}
	pairs := slices.Collect(slices.Chunk(m.Content, 2))
	rank := func(pair []*yaml.Node) int {
		if i := slices.Index(first, pair[0].Value); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(pairs, func(a, b []*yaml.Node) int { return rank(a) - rank(b) })
	m.Content = slices.Concat(pairs...)
}

// plainStyle undoes what JSON's braces and quotes look like, where YAML needs none.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && bytes.ContainsRune([]byte(n.Value), '\n') {
		n.Style = yaml.LiteralStyle
		// The encoder writes a block that begins with space so that it is read back without it.
		if first, _ := utf8.DecodeRuneInString(n.Value); unicode.IsSpace(first) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 && allScalars(n.Content) {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		plainStyle(c)
	}
}

func allScalars(nodes []*yaml.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode })
}
