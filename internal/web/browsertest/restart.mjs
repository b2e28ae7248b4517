// The server stops, or ends, while its page is open, and comes back: the page says what to do, and lives again.
import { check, drawn, open, said, step, wf } from "./browser.mjs";
import { spawn } from "node:child_process";
import { once } from "node:events";

// serve starts git wf ui at an address and waits for what it prints.
async function serve(at) {
  const server = spawn(process.env.GIT_WF, ["ui", "--addr", at, "--no-open"], { cwd: process.env.REPO, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(server.stdout, "data");
  return { server, address: String(line).trim() };
}
const stop = async ({ server }) => {
  server.kill("SIGINT");
  await once(server, "exit");
};

const { context, page } = await open();
const first = await serve("127.0.0.1:0");
const host = new URL(first.address).host;
await page.goto(first.address);
await page.goto(`http://${host}/plan/WFS-release-page`);
await drawn(page);
const note = page.locator("#connection");

await step("the server is stopped, and goes on", async () => {
  await page.clock.install();
  await page.reload();
  await drawn(page);
  first.server.kill("SIGSTOP");
  await page.clock.runFor(50_000);
  await note.filter({ hasText: "Connection lost" }).waitFor();
  first.server.kill("SIGCONT");
  await wf("pause", "-m", "a moment");
  await note.waitFor({ state: "hidden" });
  await page.clock.resume();
  await wf("resume");
  await page.locator("#do-session > summary", { hasText: "Pause" }).waitFor();
});

await step("the server ends: the page says so, and does not leave what somebody writes for an error", async () => {
  const session = page.locator("#do-session");
  await session.locator("summary").click();
  await session.getByLabel("Why").fill("lunch");
  await stop(first);
  await note.filter({ hasText: "run it and open the address that it prints: git wf ui" }).waitFor();
  await session.getByRole("button", { name: "Pause the plan" }).click();
  await note.filter({ hasText: "Nothing was sent." }).waitFor();
  check((await session.getByLabel("Why").inputValue()) === "lunch", "what was written is gone");
});

let second;
await step("it is started anew: the page says that its address is no longer valid", async () => {
  second = await serve(host);
  await note.filter({ hasText: "this address is no longer valid" }).waitFor();
  const reply = await page.request.get(`http://${host}/plans`);
  check(reply.status() === 403 && (await reply.text()).includes("git wf ui gives a new one"), await reply.text());
});

await step("the new address in another window gives this one back, too", async () => {
  const other = await context.newPage();
  await other.goto(second.address);
  await other.close();
  await page.bringToFront();
  await note.waitFor({ state: "hidden" });
  await wf("pause", "-m", "lunch");
  await page.locator("#do-session > summary", { hasText: "Resume" }).waitFor();
  await page.getByRole("button", { name: "Resume the plan" }).click(); // the form has the token of the new server
  await said(page, "status", "resume");
});
await stop(second);
await context.close();
