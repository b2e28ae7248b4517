package exchange

import (
	"strings"
	"testing/fstest"
)

// sample is a directory as one of the systems writes it.
func sample(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// ccwSample is a session with a container, two subtasks, fields that no version of the schema names, and a summary.
func ccwSample() map[string]string {
	const dir = ".workflow/WFS-user-login/"
	return map[string]string{
		".workflow/.active-WFS-user-login": "",
		dir + "workflow-session.json": `{"session_id": "WFS-user-login", "project": "Let users log in", "type": "medium", "current_phase": "IMPLEMENT",
 "status": "active", "progress": {"completed_phases": ["PLAN"], "current_tasks": ["IMPL-1.1"], "last_checkpoint": "2025-09-07T10:00:00Z"},
 "stats": {"total_tasks": 4, "ratio": 0.25}, "note": null}`,
		dir + "IMPL_PLAN.md": "# Implementation Plan\n\nTokens, then sessions.\n",
		dir + "TODO_LIST.md": "# Tasks: Login\n\n## Notes\nAsk Kim about quotas.\n",
		dir + ".task/IMPL-1.json": `{"id": "IMPL-1", "title": "Tokens", "status": "container", "meta": {"type": "feature", "agent": "@code-developer"},
 "context": {"requirements": ["signed tokens"], "focus_paths": ["src/auth"], "acceptance": ["tokens are signed"], "shared_context": {"auth_strategy": "tokens"}},
 "flow_control": {"pre_analysis": [], "implementation_approach": "Sign with the key.", "target_files": []}}`,
		dir + ".task/IMPL-1.1.json": `{"id": "IMPL-1.1", "title": "Sign a token", "status": "completed", "context_package_path": ".workflow/x.json",
 "meta": {"type": "feature", "agent": "code-developer", "execution_group": null},
 "context": {"requirements": ["one key"], "focus_paths": ["src/auth"], "acceptance": ["a token verifies", "a forged one does not"], "parent": "IMPL-1", "depends_on": [],
  "inherited": {"from": "IMPL-1", "context": ["tokens"]}, "artifacts": [{"path": "a.md", "priority": 1}]},
 "flow_control": {"pre_analysis": [{"step": "look", "action": "Look around", "command": "bash(rg token src/ | head -5)", "output_to": "seen", "on_error": "skip_optional"}],
  "implementation_approach": [{"step": 1, "title": "Sign", "description": "Use [seen]", "modification_points": ["src/auth/sign.ts:sign"], "logic_flow": []}],
  "target_files": ["src/auth/sign.ts:sign:10-40"]}, "execution": {"attempts": 2, "last": "2025-01-01"}}`,
		dir + ".task/IMPL-1.2.json": `{"id": "IMPL-1.2", "title": "Check a token", "status": "pending", "meta": {"type": "feature", "agent": "code-developer"},
 "context": {"requirements": [], "focus_paths": [], "acceptance": [], "parent": "IMPL-1", "depends_on": ["IMPL-1.1"]},
 "flow_control": {"pre_analysis": [], "implementation_approach": {"task_description": "Read the header"}, "target_files": ["src/auth/check.ts", "src/pages/[id]/view.ts"]}}`,
		dir + ".task/IMPL-002.json":            `{"id": "IMPL-002", "title": "Explain it", "status": "completed", "meta": {}, "context": {"depends_on": ["IMPL-1"]}, "flow_control": {}}`,
		dir + ".summaries/IMPL-1.1-summary.md": "# Summary\n\nSigned.\n",
		dir + ".summaries/IMPL-002.md":         "Explained.\n",
	}
}

const taskMasterSample = `{"master": {"tasks": [
  {"id": 1, "title": "Set up", "description": "Make the skeleton.", "details": "With make.\nAnd a test.", "testStrategy": "Run make.", "priority": "high",
   "dependencies": [], "status": "done", "subtasks": [
    {"id": 1, "title": "Makefile", "description": "targets", "dependencies": [], "details": "all", "status": "done", "testStrategy": "make -n"},
    {"id": 2, "title": "Tests", "description": "", "dependencies": [1, "1.1"], "details": "", "status": "pending"}]},
  {"id": 2, "title": "Serve", "description": "HTTP", "dependencies": [1], "status": "cancelled", "priority": "medium", "complexityScore": 7.5, "subtasks": []},
  {"id": "3", "title": "Ship", "description": "", "details": "", "testStrategy": "", "dependencies": ["1.2", 2], "status": "in-progress", "effort": "4h"}],
 "metadata": {"created": "2025-07-01T00:00:00Z", "description": "All of the work"}},
 "spike": {"tasks": [{"id": 9, "title": "Try", "status": "pending", "dependencies": []}], "metadata": {}}}`

const specKitSample = "# Tasks: Photo albums\n\n**Input**: design documents\n\n## Format: `[ID] [P?] [Story] Description`\n\n## Phase 1: Setup (Shared Infrastructure)\n\n" +
	"- [x] T001 Create the project in src/\n- [ ] T002 [P] Configure linting in `.golangci.yml`\n- [ ] T003 [P] Write the test harness in tests/harness_test.go\n\n" +
	"## Phase 2: User Story 1 - See albums (Priority: P1)\n\n**Goal**: albums are shown\n\n### Tests for User Story 1\n\n- [ ] T004 [P] [US1] Contract test in tests/contract/albums_test.go\n" +
	"### Implementation\n\n- [ ] T005 [US1] Album model in src/models/album.go (depends on T004)\n      keeps the order\n- [ ] T006 [US1] Page in src/pages/albums.go\n\n" +
	"## Phase 3: User Story 2 - Share (Priority: P2)\n\n- [ ] T007 [US2] Link in src/pages/share.go\n\n## Phase 4: Polish\n\n- [ ] T008 Docs in docs/albums.md\n\n" +
	"## Parallel example\n\n```bash\n- [ ] T999 not a task\n```\n"

const openSpecSample = "## 1. Parser\n- [x] 1.1 Read the header in `src/read.go`\n- [ ] 1.2 Read the body\n  - [ ] also when it is empty\n\n## 2. Docs\n- [ ] 2.1 Write `docs/parser.md`\n"

func openSpecFiles() map[string]string {
	const dir = "openspec/changes/add-parser/"
	return map[string]string{
		dir + "tasks.md":             openSpecSample,
		dir + "proposal.md":          "## Why\nNobody can read the files.\n\n## What Changes\n- A parser\n",
		dir + "specs/parser/spec.md": "## ADDED Requirements\n\n### Requirement: Read the body\nThe parser SHALL read it.\n\n#### Scenario: empty\n- **WHEN** empty\n- **THEN** nothing\n",
	}
}

const beadsSample = `{"id":"shop-a3f8","title":"Checkout","description":"All of it","status":"open","priority":1,"issue_type":"epic","created_at":"2025-11-02T21:58:07.295058-08:00"}
{"id":"shop-a3f8.1","title":"Cart","status":"closed","priority":1,"issue_type":"task","acceptance_criteria":"- [ ] it adds up\n- it survives a reload","design":"a map","notes":"none","close_reason":"done","dependencies":[{"issue_id":"shop-a3f8.1","depends_on_id":"shop-a3f8","type":"parent-child"}]}
{"id":"shop-k2p","title":"Pay","status":"in_progress","priority":0,"issue_type":"feature","estimated_minutes":240,"labels":["money"],"dependencies":[{"issue_id":"shop-k2p","depends_on_id":"shop-a3f8.1","type":"blocks"},{"issue_id":"shop-k2p","depends_on_id":"shop-a3f8","type":"parent-child"},{"issue_id":"shop-k2p","depends_on_id":"shop-zzz","type":"discovered-from"}]}
{"id":"shop-old","title":"Gone","status":"tombstone","priority":1,"issue_type":"task","deleted_at":"2025-12-01T00:00:00Z"}

{"id":"shop-7","title":"Receipts \u0026 mails","status":"open","priority":2,"issue_type":"task","dependencies":[{"issue_id":"shop-7","depends_on_id":"shop-gone","type":"blocks"}]}
`

const issueSample = `{"number": 12, "title": "Release 2.0", "state": "OPEN", "labels": [{"name": "epic"}], "url": "https://example.org/o/r/issues/12",
 "body": "What is left:\n\n- [x] #10\n- [ ] o/other#7 the port\n  - [ ] on Windows\n- [ ] Write ` + "`CHANGES.md`" + `\n"}`

const outlineSample = "# Shop\n\n## Milestone M1: Parser\n\n### Task 1.1: Read\n- status: DONE\n- estimate: 2 days\n- deliverables: `parser.txt`\n- acceptance:\n  - `test -s parser.txt` -> exit 0\n- evidence: see the log\n\n### Task 1.2: Explain\n- status: TODO\n- acceptance:\n  - every option is explained\n"

// samples are one source of each format, with the path that Find is given.
func samples() map[system]map[string]string {
	return map[system]map[string]string{
		formatCCW:        ccwSample(),
		formatTaskMaster: {".taskmaster/tasks/tasks.json": taskMasterSample},
		formatSpecKit:    {"specs/001-albums/tasks.md": specKitSample},
		formatOpenSpec:   openSpecFiles(),
		formatBeads:      {".beads/issues.jsonl": beadsSample},
		formatGitHub:     {"issue.json": issueSample},
		formatMarkdown:   {"ROADMAP.md": outlineSample},
		formatPlan:       {"plan.yaml": "title: Report\ntasks:\n  - task_id: IMPL-1\n    title: Write it\n"},
	}
}

// pathOf is what a user would name to import a sample.
func pathOf(f system) string {
	switch f {
	case formatGitHub:
		return "issue.json"
	case formatMarkdown:
		return "ROADMAP.md"
	case formatPlan:
		return "plan.yaml"
	}
	return "."
}

func lines(parts ...string) string { return strings.Join(parts, "\n") }
