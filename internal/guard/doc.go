// Package guard says what a tool call of a chat agent may not do here, and which way is right instead.
//
// It hides how command lines are read. It is there against mistakes and shortcuts, and proves nothing: what a variable,
// a script or a program of another language does is not seen, and the gate judges what lands, whoever made it. So where
// in doubt it says nothing.
package guard
