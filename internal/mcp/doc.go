// Package mcp serves tools to one program by the Model Context Protocol: messages of JSON-RPC 2.0, one a line, on
// standard input and output. It knows nothing of what the tools do.
//
// It has what the agents' programs use, and nothing else: initialize, ping, tools/list, tools/call, progress and
// cancellation. Whatever comes in is hostile until it is checked; what goes out is one whole message a line.
package mcp
