// Package backend asks an agent: a prompt goes in, the text of a reply comes out.
//
// It hides one decision: how a prompt becomes a reply, for every kind of agent there is: any program of the user's, the
// vendors' command-line agents without a terminal, and model services over HTTP. What differs between them ends here:
// flags, output formats, sessions, keys, retries, what an error means, and who is asked when one can't answer.
//
// It does not own: what a prompt says and what a reply has to contain (internal/contract), tasks and records
// (internal/engine), how a child process is bounded (internal/process), where the configuration is kept (cmd). A
// configuration is the user's and never the repository's.
//
// # What an agent may do
//
// A command-line agent may read and write files in Request.Dir and Request.Writable, read Request.Readable, and nothing
// else without being asked, and nobody is there to be asked. Shell commands at large run only where the agent has a
// sandbox of its own (codex), unless Config.Shell says that they may:
//
//	claude    --permission-mode acceptEdits, --add-dir for the writable directories, Read rules for the readable ones;
//	          of commands it runs those alone that it takes for harmless edits in them, Shell allows the tool Bash
//	codex     sandbox_mode workspace-write with the writable directories as roots, approval_policy never; shell commands
//	          run in that sandbox, which also lets them write below the directory for temporary files
//	gemini    --approval-mode auto_edit, --include-directories; Shell makes the mode yolo
//	opencode  OPENCODE_PERMISSION allows reading and editing, and the other directories one by one; Shell allows bash
//
// The last two may write wherever they may read, so they get no readable directory that is a repository.
//
// Settings, hooks, plugins and servers that a repository brings along run commands, so those of the working directory
// are kept out: claude reads the user's settings alone, opencode no project configuration, codex none of a directory
// that the user does not trust, and gemini is told to trust a directory only if it has no settings in it.
package backend
