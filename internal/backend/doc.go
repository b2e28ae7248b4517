// Package backend asks an agent: a prompt goes in, the text of a reply comes out.
//
// It hides one decision: how a prompt becomes a reply, for every kind of agent: any program of the user's, the vendors'
// command-line agents without a terminal, and model services over HTTP. Their differences end here: flags, output
// formats, sessions, keys, retries, the meaning of errors, and the fallback if one can't answer.
//
// It does not decide what a prompt says and a reply must contain (internal/contract). It does not own tasks and records
// (internal/engine), the limits of a child process (internal/process) or the place of the configuration (cmd). A
// configuration is always the user's and never the repository's.
//
// # What an agent may do
//
// A command-line agent may read and write files in Request.Dir and Request.Writable and read Request.Readable. Anything
// else it would have to ask for, and nobody answers. Other shell commands run only if the agent has a sandbox of its
// own (codex) or Config.Shell allows them. gemini and opencode may write wherever they may read unless they may write
// nowhere, so no readable directory of theirs is a repository then.
//
// A repository's settings, hooks, plugins and servers run commands, so we keep out those of the working directory:
// claude reads only the user's settings, opencode no project configuration, codex none of a directory that the user
// does not trust, and gemini is told to trust a directory only if it has no settings.
package backend
