// Package contract is what an agent replies, whatever agent it is: one JSON object, described by reply.schema.json.
//
// It hides one decision: which texts are a reply. Parse takes the text that an agent ended with and gives either a
// Reply, every field of which was checked, or a *Violation, which goes back to the agent. Nothing is ever half taken: a
// text that could be read in two ways, that was cut off, or in which a part is broken is refused as a whole.
//
// What is mended, because it has one reading: prose and Markdown fences around the object, a byte order mark, one
// leading <think>...</think>, trailing commas, // and /* */ comments, line ends and tabs inside strings, a closing
// brace or a comma too many after the end, the same reply twice. What is refused: two replies that differ, a reply
// inside another object, a list or a string, duplicate keys, other quotes than straight double ones, names without
// quotes, NaN, None, unknown escapes, half surrogate pairs, and whatever else is no JSON.
//
// Unknown fields are ignored, so that agents may say more than today's schema knows; they never reach a Reply. Only the
// items of files are closed: an unknown field there (a mode, a way to append) would change what is to be written. A
// field that is null counts as left out where it may be left out.
//
// It does not own: how an agent is run and how its text is found among its output (internal/agent), what a reply leads
// to (internal/engine), and whether a plan that a reply carries is one (internal/plan). It is pure: bytes in, values
// out. The specification is docs/agents.md.
package contract
