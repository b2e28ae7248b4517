package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/templates"
)

// commandGroup is what the help lists together. flagRules and rules say what else holds for a command.
type commandGroup struct {
	purpose  string
	commands []*cli.Command
}

// command makes a command of its words, the name and the arguments as the help has them.
func command(words, usage string, action cli.ActionFunc, flags ...cli.Flag) *cli.Command {
	name, args, _ := strings.Cut(words, " ")
	return &cli.Command{Name: name, ArgsUsage: args, Usage: usage, Action: action, Flags: flags}
}

// parent makes a command that only groups others.
func parent(name, usage string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Subcommands: commands}
}

func (e *env) groups() []commandGroup {
	return []commandGroup{
		{"plan the work", e.planningCommands()},
		{"do the work", e.workCommands()},
		{"look at it", e.lookCommands()},
		{"decide", e.decisionCommands()},
		{"land what is approved", e.landingCommands()},
		{"set up and maintain", e.setupCommands()},
	}
}

func (e *env) planningCommands() []*cli.Command {
	planFlags := []cli.Flag{
		textFlag("file,f",
			"the `FILE` with the plan, with what is to be planned (.txt), or of another system; - is standard "+
				"input; where the name says nothing, the content decides", ""),
		textFlag("issue", "plan what issue `N` of the forge asks for", ""),
		attachFlag(), fromFlag(), plannerFlag(),
		boolFlag("amend",
			"change the active plan, as --file or, to the planner, -m says; approved tasks that a person's "+
				"plan changes, and what builds on them, are made again (-n lists them); an agent's may change "+
				"none"),
		boolFlag("edit,e", "edit the plan in your editor, and hand it in"),
		messageFlag("why, or what to change"),
		boolFlag("dry-run,n", "show the graph, the findings and what is made again; write nothing"),
		boolFlag("schema", "print the JSON Schema of plan files"),
		textFlag("type",
			"what the plan begins with: "+templates.TypeNames()+", or a `TYPE` of your own, types/TYPE.yaml among "+
				"your templates; the plan keeps its rules, and prompts have its words", ""),
		textFlag("complexity",
			"the least complexity `LEVEL`: simple, medium or complex; it rises with the number of tasks and "+
				"never falls", ""),
		textFlag("workflow",
			"make the plan from a workflow, by `NAME` or path; its command lines, also those of later parts, are "+
				"shown and trusted here", ""),
		setFlag(), planFlag(), jsonFlag(),
	}
	return []*cli.Command{
		command("plan [WHAT...]", "make a plan, from a sentence, a file or another system's tasks", e.plan,
			append(planFlags, importFlags()...)...),
		command("add WHAT...", "add one task to the active plan", e.onEnginePlan(wholePlan, e.add),
			textFlag("deliverable,d", "the `FILE` that it makes", ""),
			listFlag("path", "a `PATH` or pattern that it may change in the repository"),
			listFlag("criterion,c", "what must be true of it, for the reviewer"),
			listFlag("check", "a command `LINE` that must exit with 0 on it, trusted on this machine"),
			listFlag("depends", "a `TASK` whose result it needs"),
			&cli.Float64Flag{Name: "days", Usage: "the estimate in person-`DAYS`", DefaultText: "by rule"},
			textFlag("run",
				"the command `LINE` that makes it, trusted on this machine; else an agent or a person does", ""),
			boolFlag("dry-run,n", "show the graph and the findings; write nothing"),
			planFlag(), jsonFlag(), messageFlag("why")),
		e.issueCommand(),
		e.workflowCommand(),
		e.rulesCommand(),
		command("split TASK", "split a task that is too large into smaller ones",
			e.onEngineTask(wholePlan, e.split), planFlag(), jsonFlag(), plannerFlag(),
			textFlag("file,f", "the `FILE` with the smaller tasks; - is standard input", "the planner's"),
			messageFlag("why")),
		command("plans", "list the plans of this repository", e.onStore(e.plans), jsonFlag(),
			boolFlag("all,a", "list completed plans, too, apart")),
		command("share [PLAN]", "push a plan and the policy to the remote, and from then on what is recorded in it",
			e.onNamedPlan(e.share), planFlag(), jsonFlag()),
		command("switch PLAN", "make another plan the active one of this worktree", e.onStore(e.switchPlan),
			jsonFlag()),
	}
}

func (e *env) workCommands() []*cli.Command {
	return []*cli.Command{
		command("do WHAT...", "set up, plan what is asked for, have it done, and say what is next",
			e.doAnywhere, attachFlag(), fromFlag(),
			textFlag("workflow", "make the plan from this workflow, by `NAME` or path; none: plan it freely",
				"the one that the words fit"),
			setFlag(), plannerFlag(), executorFlag(), reviewerFlag(), jobsFlag(), quietFlag()),
		command("run", "carry the plan out until it is done or waits for someone",
			e.onEnginePlan(wholePlan, e.carryOut), planFlag(), jsonFlag(), jobsFlag(),
			boolFlag("step", "do exactly one thing"),
			&cli.StringFlag{Name: "orchestrator", Value: "agent",
				Usage: "`WHO` decides for tasks that decide: agent (of their role, or a person) or policy (a rule)"},
			boolFlag("land", "land each change when it is approved, as git wf land does"),
			executorFlag(), reviewerFlag(), quietFlag()),
		e.workerCommand(),
		command("next [TASK]", "give an outside agent its next task, or say what each open task waits for",
			e.onEnginePlan(warmPlan, e.next), planFlag(), jsonFlag(),
			boolFlag("claim", "take the task; the work is handed in with the number that is printed"),
			textFlag("agent", "claim under this `NAME`", "git's user.name"),
			textFlag("lease", "hold the claim for `TIME`, such as 20m", "wf.lease, or 5m"),
			countFlag("renew", "extend claim `N` of TASK by a whole lease from now", ""),
			countFlag("release", "give claim `N` of TASK back", ""),
			messageFlag("with --release: why it can't be done; counts as a failed attempt"),
			boolFlag("worktree",
				"with --claim, of a change: make a worktree with a branch of its own below .worktrees, for submit "+
					"--worktree"),
			boolFlag("explain", "say instead what each open task, or TASK alone, waits for, and which command helps")),
		command("start TASK [DIR]", "make a worktree and a branch in which to do a task that changes the repository",
			e.onEngineTask(recordNear, e.start), planFlag(), jsonFlag(),
			textFlag("on",
				"begin with the candidate of `TASK`, which it waits for; hand in when that is approved", ""),
			countFlag("pr", "begin with pull request `N`", "")),
		command("submit TASK [PATH...]", "hand in a candidate for a task", e.onEngineTask(recordNear, e.submit),
			planFlag(), jsonFlag(), messageFlag("what was done"),
			textFlag("commit",
				"of a change: what `REV` changes since its merge base with what the task begins with", ""),
			boolFlag("worktree", "of a change: the files of this worktree or the claim's, without ignored ones"),
			textFlag("from", "the newest version at `COMMIT` of the plan, as git wf sync sets one aside", ""),
			textFlag("reply",
				"with --claim: a `FILE` with an agent's reply (git wf agents schema), which has the files, asks, or "+
					"says why there are none; - is standard input", ""),
			countFlag("claim", "hand in under claim `N` of git wf next; refused if it was claimed since", "")),
		command("answer TASK [TEXT...]", "answer what a task asks, or hand in what it requires",
			e.onEngineTask(wholePlan, e.answer), planFlag(), jsonFlag(),
			textFlag("question", "the `QUESTION` to answer, such as q2", "the first open one"),
			textFlag("option", "the `ID` of the option that is chosen", ""),
			listFlag("file,f", "a `FILE` to hand in"),
			textFlag("for", "the `NAME` of the input that they are for", "the only one that takes them all")),
		command("mcp", "serve a coding agent's program the tools to work on the plan (MCP)", e.mcp),
		command("note [CATEGORY] TEXT...", "write a note for those who work on the plan",
			e.onEnginePlan(recordNear, e.note), planFlag(), jsonFlag(),
			textFlag("agent", "note what an outside agent of this `NAME` says", "")),
		command("prime", "say in a few lines what an agent in this worktree has to know now", e.prime),
		command("prompt TASK", "print what an agent would be told about a task",
			e.onEngineTask(wholePlan, e.prompt), planFlag(), executorFlag(), reviewerFlag()),
		e.trustCommand(),
		command("pause [PLAN]", "start no work in a plan until it is resumed", e.onNamedPlan(e.pause),
			planFlag(), jsonFlag(), messageFlag("why")),
		command("resume [PLAN]", "continue a paused plan, or reopen a completed one", e.onNamedPlan(e.resume),
			planFlag(), jsonFlag(), messageFlag("why; needed for a completed plan")),
	}
}

func (e *env) lookCommands() []*cli.Command {
	return []*cli.Command{
		command("inbox", "list what waits for you, over all plans", e.onEngine(e.inbox), jsonFlag()),
		command("status", "show the tree of tasks, and what each waits for", e.status, planFlag(), jsonFlag(),
			textFlag("as",
				"print a document: `dev-plan` says TODO, DOING, BLOCKED, DONE or VERIFIED, and what shows it", ""),
			boolFlag("cost", "show the tokens and dollars that agents report instead"),
			boolFlag("watch,w", "keep showing it, with who works for how long, until interrupted")),
		command("show TASK", "show one task: spec, criteria, versions, reviews, evidence, inputs",
			e.onReadable(nearTask, e.show), planFlag(), jsonFlag(),
			boolFlag("review", "print the newest review file instead")),
		command("diff TASK [VERSION] [VERSION]", "show what a version changes, or what changed between two versions",
			e.onReadable(nearTask, e.diff), planFlag(),
			boolFlag("stat", "list the files and how much of each changed")),
		command("why PATH", "say which task, version and review brought a line of a file in", e.onStore(e.why),
			textFlag("at", "take the file as of `REV`", "the worktree"), jsonFlag()),
		command("log [TASK]", "show the plan's history, one line for each event", e.onStore(e.log),
			planFlag(), jsonFlag(), countFlag("max-count,n", "stop after `N` events", "all")),
		command("notes [CATEGORY...]", "show the plan's notes, with who wrote them", e.onReadable(nearTask, e.notes),
			planFlag(), jsonFlag()),
		command("graph", "draw the plan: goals, tasks, dependencies and statuses",
			e.onReadable(wholePlan, e.drawGraph),
			textFlag("format",
				"draw as `FORMAT`: ascii for a terminal, mermaid, or svg, a picture in one file", "ascii"),
			boolFlag("checks", "show the CHECKs too"),
			boolFlag("critical-path", "mark the chain of open tasks with the most person-days"),
			planFlag(), jsonFlag()),
		command("trace [FILE... | ID...]", "show from which goal each part of a specification comes", e.trace,
			boolFlag("gaps", "list what is missing or wrong; exits with 1 if anything is"),
			boolFlag("all", "demand kinds, too, of which there is none yet"),
			planFlag(), jsonFlag()),
		command("ui", "show the plan live in a browser, and decide there", e.onStore(e.ui), planFlag(),
			&cli.StringFlag{Name: "addr", Usage: "listen on the loopback `ADDRESS`; port 0 is any free one",
				Value: "127.0.0.1:0"},
			boolFlag("no-open", "print the address, but open no browser"),
			boolFlag("read-only", "offer nothing that changes anything")),
		command("checkout", "write the plan as read-only files into .workflow", e.onStore(e.checkout),
			boolFlag("force", "replace edited and foreign files, too; each is kept as NAME.orig"),
			textFlag("output,o", "write below `DIR`, for another system; works in a bare repository", ""),
			planFlag(), jsonFlag()),
	}
}

func (e *env) decisionCommands() []*cli.Command {
	return []*cli.Command{
		command("review [TASK]", "review the newest version of a task, or be asked for all that waits for you",
			e.reviewOrWalk, planFlag(), jsonFlag(),
			boolFlag("approve", "the version may land"),
			boolFlag("reject", "the version has to be made again"),
			boolFlag("still-holds",
				"the approved version holds for its newer inputs, too: don't make it again; takes no verdict"),
			countFlag("score", "`N`, from 0 to 100", "100, less 10 for each SHOULD that failed"),
			listFlag("criterion", "`ID=pass|fail|none[:EVIDENCE]` is a verdict on one criterion"),
			listFlag("rating",
				"`DIMENSION=NUMBER` rates a dimension of a rubric, =none if it does not apply; the score follows"),
			messageFlag("why, or what to change"),
			textFlag("artifact", "review `VERSION`, such as v2; refused unless it is the newest", ""),
			textFlag("as", "take the seat of `ROLE`, where the reviewers are roles", "the only open one"),
			textFlag("reviewer", "note that you review for `NAME`; it counts as yours", "")),
		command("retry TASK", "let a task that used up its attempts go on, or take an abandoned one back",
			e.onEngineTask(wholePlan, e.retry), planFlag(), jsonFlag(), messageFlag("why")),
		command("rerun [TASK...]", "make approved deliverables again, for the repository as it is now",
			e.onEnginePlan(wholePlan, e.rerun), planFlag(), jsonFlag(), messageFlag("why; the makers read it"),
			boolFlag("dry-run,n", "only list what would be made again")),
		command("abandon TASK", "abandon a task; git wf retry takes it back into the plan",
			e.onEngineTask(wholePlan, e.abandon), planFlag(), jsonFlag(), messageFlag("why; needed")),
		command("waive PATH | TASK", "in an emergency, let one unapproved thing pass", e.onStore(e.waive),
			planFlag(), jsonFlag(), messageFlag("why; needed"),
			textFlag("criterion", "of a task, the criterion `ID` that passes", "")),
		command("complete [PLAN]", "end a plan in which nothing is open, with its metrics and lessons",
			e.onNamedPlan(e.complete), planFlag(), jsonFlag(), messageFlag("what to record about its end")),
	}
}

func (e *env) landingCommands() []*cli.Command {
	const branch = "wf.branch, else the remote's, else main"
	return []*cli.Command{
		command("land [TASK...]", "apply approved changes of the repository to its branch", e.landOrMerge,
			planFlag(), jsonFlag(), textFlag("branch", "land on `BRANCH`", branch),
			boolFlag("one", "land all changes in one commit, judged as a whole"),
			boolFlag("push", "push the branch and the plan, both or neither; judge again if somebody pushed first"),
			boolFlag("pr", "instead, push each change as a branch, wf/PLAN/TASK, and make or update its pull request"),
			boolFlag("auto", "with --pr or --prs: the forge merges each as soon as it may"),
			boolFlag("prs", "look after what is proposed: what has landed, what is asked for, what waits for you"),
			boolFlag("no-verify", "skip your pre-commit and commit-msg hooks"),
			textFlag("merge", "merge `BRANCH` into the one checked out, as the gate takes it (docs/gate.md)", "")),
		command("undo TASK", "plan to take a landed change back out of the branch", e.onEngineTask(undoneIn, e.undo),
			planFlag(), jsonFlag(), textFlag("branch", "take it back on `BRANCH`", branch)),
		command("export", "write the approved deliverables to deliverables/PLAN/bundle/ and stage them",
			e.onStore(e.export),
			textFlag("format", "instead, print the plan and its state as `FORMAT`: json, yaml or markdown", ""),
			planFlag(), jsonFlag(),
			boolFlag("commit", "commit the bundle, too, without what else is staged"),
			textFlag("root", "write below the protected `DIR`", "the policy's first"),
			boolFlag("partial", "export what is approved of an unfinished plan"),
			boolFlag("allow-stale", "export also what was approved with older inputs or criteria"),
			boolFlag("final-only", "of an assembled plan, the assembled deliverable alone"),
			boolFlag("include-candidates",
				"for a look: also what nobody approved, marked; the hooks refuse such a bundle")),
		command("verify [COMMIT | RANGE]", "judge whether what is staged, a commit, or a range may land",
			e.onStore(e.verify), jsonFlag(),
			&cli.StringFlag{Name: "format", Value: "text",
				Usage: "print findings as `FORMAT`: text, github (annotations of a workflow) or sarif (2.1.0)"},
			boolFlag("require-commits", "exit with 1 if the range selects no commit")),
		e.policyCommand(),
	}
}

func (e *env) setupCommands() []*cli.Command {
	return []*cli.Command{
		command("init", "set up this repository: hooks and settings", e.init,
			boolFlag("no-strict",
				"leave out reference-transaction, which judges every move of a branch or plan, such as those of "+
					"a rebase, git update-ref or --no-verify; kept as wf.strict"),
			boolFlag("strict", "bring it back"),
			boolFlag("throwaway",
				"for trying things out: anybody passes for a person, and approvals count nowhere else; "+
					"refused where a plan counts"),
			textFlag("server",
				"set up the bare repository in `DIR`: its hook pre-receive judges each push as a whole", ""),
			forceFlag()),
		e.setupCommand(),
		e.agentsCommand(),
		parent("hooks", "install, remove or show the hooks that run the gate",
			command("install", "install the hooks next to existing ones", e.onStore(e.hooksInstall), forceFlag()),
			command("uninstall", "remove them and the settings of init, and restore what was there",
				e.onStore(e.hooksUninstall)),
			command("status", "show which hooks are active, and why others are not", e.onStore(e.hooksStatus),
				jsonFlag())),
		// what the hook scripts call when a protected root is touched
		{Name: "hook", Hidden: true, SkipFlagParsing: true, Action: e.onStore(e.hook)},
		// what a vendor's program calls at moments of a session; internal/vendor sets it up
		{Name: "agent-hook", Hidden: true, SkipFlagParsing: true, Action: e.agentHook},
		command("doctor", "check that all state is sound: history, records, refs, claims, hooks, settings",
			e.onStore(e.doctor), jsonFlag(),
			boolFlag("fix",
				"repair what loses nothing, such as hooks, settings and claims of gone workers, which end as lost "+
					"attempts, and record it in the active plan; no record changes"),
			boolFlag("mask",
				"mask secrets in the newest records of every plan; the history keeps them: revoke the key")),
		command("sync", "join the plans here with what others have made of them, and push them", e.onStore(e.sync),
			jsonFlag(), textFlag("remote", "the remote's `NAME`", "the only one, or origin")),
		command("prune", "restart a plan's history without the files of versions that nobody approved",
			e.onStore(e.prune), planFlag(), jsonFlag(),
			countFlag("keep", "keep the files of the newest `N` versions of each task", "the policy's, or 3"),
			boolFlag("dry-run,n", "show what would go; change nothing"),
			boolFlag("history", "restart the history even if no version's files go, as after masking a secret"),
			boolFlag("delete-archive",
				"delete the archive here (a server's is its owner's): older bundles can't be verified any more, what "+
					"landed stays")),
		command("demo", "show everything once, in a throwaway repository", e.demo,
			boolFlag("code", "show a task that changes code, and how the change lands")),
		// for the scripts that install.sh installs
		{Name: "completion", Hidden: true, Action: e.completion,
			ArgsUsage: "bash|zsh|fish|tasks|plans|workflows|categories"},
	}
}
