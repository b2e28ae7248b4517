package prompt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// checkFields follows the types through a template and every block that it calls, and fails at the first unknown field.
// text/template finds those only when it reaches them.
func checkFields(t *template.Template) error {
	c := &fieldChecker{set: t, seen: map[visit]bool{}}
	c.block(t.Name(), reflect.TypeFor[Data]())
	return c.err
}

type visit struct {
	name string
	dot  reflect.Type
}

// fieldChecker knows types as far as they follow from Data; it accepts anything of an unknown type, which is nil.
type fieldChecker struct {
	set  *template.Template
	tree *parse.Tree
	seen map[visit]bool
	err  error
}

type variables map[string]reflect.Type

func (c *fieldChecker) block(name string, dot reflect.Type) {
	if v := (visit{name, dot}); c.seen[v] {
		return
	} else {
		c.seen[v] = true
	}
	called := c.set.Lookup(name)
	if called == nil || called.Tree == nil {
		return // the caller reports it
	}
	outer := c.tree
	c.tree = called.Tree
	c.node(called.Root, dot, variables{"$": dot})
	c.tree = outer
}

func (c *fieldChecker) fail(n parse.Node, format string, args ...any) {
	if c.err == nil {
		at, _ := c.tree.ErrorContext(n)
		c.err = templateError(fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
}

func (c *fieldChecker) node(n parse.Node, dot reflect.Type, vars variables) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				c.node(child, dot, vars)
			}
		}
	case *parse.ActionNode:
		c.pipe(n.Pipe, dot, vars)
	case *parse.IfNode:
		c.pipe(n.Pipe, dot, vars)
		c.branches(&n.BranchNode, dot, dot, vars)
	case *parse.WithNode:
		inner := copied(vars)
		c.branches(&n.BranchNode, c.pipe(n.Pipe, dot, inner), dot, inner)
	case *parse.RangeNode:
		inner := copied(vars)
		element := elementOf(c.pipe(n.Pipe, dot, inner))
		for i, v := range n.Pipe.Decl {
			inner[v.Ident[0]] = element
			if i == 0 && len(n.Pipe.Decl) == 2 {
				inner[v.Ident[0]] = nil
			}
		}
		c.branches(&n.BranchNode, element, dot, inner)
	case *parse.TemplateNode:
		dot = c.pipe(n.Pipe, dot, vars)
		if called := c.set.Lookup(n.Name); called == nil || called.Tree == nil {
			c.fail(n, "no block %q", n.Name)
			return
		}
		if n.Pipe != nil && dot != nil {
			c.block(n.Name, dot)
		}
	}
}

func (c *fieldChecker) branches(n *parse.BranchNode, then, otherwise reflect.Type, vars variables) {
	c.node(n.List, then, vars)
	c.node(n.ElseList, otherwise, vars)
}

// pipe checks what a pipeline mentions and returns the type of its result.
func (c *fieldChecker) pipe(p *parse.PipeNode, dot reflect.Type, vars variables) reflect.Type {
	if p == nil {
		return nil
	}
	var result reflect.Type
	for i, command := range p.Cmds {
		for j, arg := range command.Args {
			t := c.operand(arg, dot, vars)
			if j == 0 {
				result = t
			}
		}
		if i > 0 || len(command.Args) > 1 {
			result = nil // a function's result
		}
	}
	for _, v := range p.Decl {
		vars[v.Ident[0]] = result
	}
	return result
}

func (c *fieldChecker) operand(n parse.Node, dot reflect.Type, vars variables) reflect.Type {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return c.fields(n, dot, n.Ident)
	case *parse.VariableNode:
		return c.fields(n, vars[n.Ident[0]], n.Ident[1:])
	case *parse.ChainNode:
		return c.fields(n, c.operand(n.Node, dot, vars), n.Field)
	case *parse.PipeNode:
		return c.pipe(n, dot, copied(vars))
	}
	return nil
}

func (c *fieldChecker) fields(n parse.Node, t reflect.Type, names []string) reflect.Type {
	for _, name := range names {
		if t == nil {
			return nil
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if m, ok := reflect.PointerTo(t).MethodByName(name); ok {
			t = m.Type.Out(0)
			continue
		}
		if t.Kind() != reflect.Struct {
			c.fail(n, "no field %s in a %s", name, t.Kind())
			return nil
		}
		f, ok := t.FieldByName(name)
		if !ok || !f.IsExported() {
			c.fail(n, "no field %s in %s, which has %s", name, t.Name(), strings.Join(fieldNames(t), ", "))
			return nil
		}
		t = f.Type
	}
	return t
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

func elementOf(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

func copied(vars variables) variables {
	c := make(variables, len(vars))
	for k, v := range vars {
		c[k] = v
	}
	return c
}
