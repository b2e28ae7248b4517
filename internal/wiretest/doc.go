// Package wiretest is a local server that answers from a script as the vendors' model services do, for tests of its
// clients: the backends, the engine, and the command line with the real coding agents. Nothing that is shipped imports
// it.
//
// It hides one decision: how a scripted Turn looks on each vendor's wire. It speaks the Anthropic Messages API, the
// OpenAI chat completions and Responses APIs, and Gemini's generateContent, each as a whole response and as server-sent
// events, with tool calls, so that a real agent can be made to write a real file.
//
// It does not own what a reply must contain for the program under test. It follows the vendors' references and what
// their own clients were seen to need.
package wiretest
