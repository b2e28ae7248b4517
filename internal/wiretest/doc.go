// Package wiretest is a local server that answers as the vendors' model services do, from a script, for the tests of
// whatever talks to them: the backends, the engine, and the command line with the real coding agents. Nothing that is
// shipped imports it.
//
// It hides one decision: how a scripted Turn looks on each vendor's wire. It speaks the Anthropic Messages API, the
// OpenAI chat completions and Responses APIs, and Gemini's generateContent, each whole and as server-sent events, with
// calls of tools, so that a real agent can be made to write a real file.
//
// It does not own: what a reply has to contain for the program under test. What it knows of the wires is what the
// vendors' references specify and what their own clients were seen to need.
package wiretest
