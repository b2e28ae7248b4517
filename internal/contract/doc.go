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
// The error codes of a Violation are stable:
//
//	empty           the agent said nothing
//	too-large       the text, a list or the files pass a limit
//	not-utf8        the text is not UTF-8
//	no-reply        no JSON object in the text has a result_type
//	wrapped         the reply stands inside another object or a list
//	double-encoded  the reply stands inside a string, with its quotes escaped
//	two-replies     two replies in one text that differ
//	leftover        text goes on after the object as if it belonged to it
//	cut-off         the text ends before the object does
//	syntax          the object is no JSON
//	duplicate-key   a field stands twice in one object
//	too-deep        nested too deep
//	missing-field   a field is missing
//	unknown-field   a field that the items of files don't have
//	wrong-type      a value of the wrong JSON type
//	bad-value       a value that is out of range, blank, or not among those allowed
//	wrong-version   a schema_version that is not known
//	wrong-result    a result_type that the role does not have
//	bad-path        a path that no file of an artifact can have
//	duplicate-path  two paths that are one on some systems, or a path that is file and directory
//	bad-encoding    content that is not the base64 that it claims to be
//	unknown-id      a criterion, task or option that does not exist
//	duplicate-id    an id or a name that stands twice
//	not-judged      a criterion that the review leaves out
//	contradiction   fields that can't both be meant
//	no-files        an artifact without files, here or in the directory for them
//
// It does not own: how an agent is run and how its text is found among its output (internal/agent), what a reply leads
// to (internal/engine), and whether a plan that a reply carries is one (internal/plan). It is pure: bytes in, values
// out. The specification is docs/agents.md.
package contract
