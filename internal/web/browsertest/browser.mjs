// What the scripts share: the browser, the checks, and the repository behind the page.
//
// The surroundings come from the Go test: TOOLS has the npm packages, CHROMIUM is the browser, REPO the repository, GIT_WF
// the program, SHOTS a directory for pictures (or nothing).
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const require = createRequire(join(process.env.TOOLS, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const run = promisify(execFile);

// open starts a browser of its own. What a page complains about is kept in complaints.
export async function open(options = {}) {
  const profile = mkdtempSync(join(process.env.SCRATCH, "profile-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM,
    headless: true,
    viewport: { width: 1280, height: 860 },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync", "--host-resolver-rules=MAP evil.example 127.0.0.1",
    ],
    ...options,
  });
  context.setDefaultTimeout(30_000);
  const complaints = [];
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      complaints.push(message.text());
    }
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  context.on("dialog", (dialog) => {
    complaints.push("a dialog: " + dialog.message());
    dialog.dismiss().catch(() => {});
  });
  return { context, page: context.pages()[0], complaints };
}

// wf runs a command of git wf in another process, as a colleague at the terminal would.
export async function wf(...args) {
  const { stdout } = await run(process.env.GIT_WF, args, { cwd: process.env.REPO });
  return stdout;
}

export async function git(...args) {
  const { stdout } = await run("git", args, { cwd: process.env.REPO });
  return stdout.trim();
}

let steps = 0;

// step says what is done next; an error names the step that it happened in.
export async function step(name, f) {
  steps++;
  const began = Date.now();
  try {
    const result = await f();
    console.log(`ok ${steps} ${name} (${Date.now() - began} ms)${typeof result === "string" ? ": " + result : ""}`);
  } catch (err) {
    console.log(`not ok ${steps} ${name}\n${err.stack || err}`);
    process.exit(1);
  }
}

export function check(condition, text) {
  if (!condition) {
    throw new Error(text);
  }
}

// drawn waits for the picture.
export async function drawn(page) {
  await page.waitForSelector("body[data-drawn]");
  await page.waitForSelector("#graph svg g[data-task]");
}

// audit has axe look at the page. What is serious or worse is an error. A text that fades in has no contrast
// yet, so it waits until nothing moves.
export async function audit(page, name) {
  await page.evaluate(axe);
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((a) => a.finished)));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  const text = bad.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 3).map((n) => n.html + "\n  " + n.failureSummary).join("\n  ")}`).join("\n");
  check(bad.length === 0, `${name}: ${text}`);
  return violations.map((v) => `${v.id} (${v.impact})`).join(", ") || "no finding";
}

// said waits until the page says how an action ended, as a status or an alert, and until its scripts have put back what was
// typed.
export async function said(page, role, text) {
  await page.getByRole(role).filter({ hasText: text }).waitFor();
  await page.waitForLoadState();
}

// shot takes a picture for the documentation, if pictures are wanted.
export async function shot(page, name) {
  if (process.env.SHOTS) {
    await page.screenshot({ path: join(process.env.SHOTS, name + ".png") });
  }
}
