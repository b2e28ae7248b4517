package prompt

import (
	"errors"
	"io"
	"reflect"
	"text/template"
	"text/template/parse"
)

// checkFields finds misspelt fields and blocks that no data reaches today: it runs every branch of a template on data
// that has one of everything.
func checkFields(t *template.Template) error {
	all, err := t.Clone()
	if err != nil {
		return err
	}
	for _, block := range all.Templates() {
		block.Tree = block.Tree.Copy() // Clone shares the trees
		block.Root.Nodes = everyBranch(block.Root)
	}
	var sample Data
	fill(reflect.ValueOf(&sample).Elem())
	err = all.Execute(io.Discard, sample)
	var failed template.ExecError
	if !errors.As(err, &failed) || errors.Unwrap(failed.Err) != nil {
		return nil // the cause is a function's: real data may suit it
	}
	return templateError(err)
}

// everyBranch lists the nodes of a block without its conditions: both branches of each follow it.
func everyBranch(list *parse.ListNode) []parse.Node {
	var nodes []parse.Node
	if list == nil {
		return nil
	}
	inner := func(b *parse.BranchNode) []parse.Node {
		b.List.Nodes = everyBranch(b.List)
		otherwise := everyBranch(b.ElseList)
		b.ElseList = nil
		return otherwise
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.BreakNode, *parse.ContinueNode:
		case *parse.IfNode:
			nodes = append(nodes, &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: n.Pipe})
			nodes = append(append(nodes, everyBranch(n.List)...), everyBranch(n.ElseList)...)
		case *parse.WithNode:
			nodes = append(append(nodes, n), inner(&n.BranchNode)...)
		case *parse.RangeNode:
			nodes = append(append(nodes, n), inner(&n.BranchNode)...)
		default:
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// fill sets everything to something: one element in each list, no number zero, no text empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}
