// Calls git wf agent-hook EVENT --vendor opencode: before a tool call, which it may refuse, and for the model's brief.
// Without git wf nothing happens.
import { spawn } from "node:child_process"

export const GitWf = async ({ directory }) => {
  const ask = (event, input) =>
    new Promise((resolve) => {
      const hook = spawn("git", ["wf", "agent-hook", event, "--vendor", "opencode"], { cwd: directory })
      let out = "", why = ""
      hook.stdout.on("data", (data) => (out += data))
      hook.stderr.on("data", (data) => (why += data))
      hook.stdin.on("error", () => {})
      hook.on("error", () => resolve({ out: "" }))
      hook.on("close", (code) => resolve({ out: code === 0 ? out : "", why: code === 2 ? why : "" }))
      hook.stdin.end(JSON.stringify({ cwd: directory, ...input }))
    })
  const briefs = new Map()
  return {
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!briefs.has(sessionID)) briefs.set(sessionID, await ask("session-start", { session_id: sessionID }))
      const { out } = briefs.get(sessionID)
      if (out.trim()) output.system.push(out)
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const { out } = await ask("pre-compact", { session_id: sessionID })
      if (out.trim()) output.context.push(out)
    },
    "tool.execute.before": async ({ tool, sessionID }, output) => {
      const { why } = await ask("pre-tool", { session_id: sessionID, tool_name: tool, tool_input: output.args })
      if (why) throw new Error(why)
    },
  }
}
