// A task's page stays open through the task's whole life, and is never loaded anew: what it shows is right after each event,
// and what somebody writes meanwhile stays. A browser needs one stream, however many windows show a plan.
import { audit, check, drawn, open, said, step, wf } from "./browser.mjs";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const { context, page, complaints } = await open();
const address = process.env.ADDRESS;
const base = new URL(address).origin;
const plan = base + "/plan/WFS-life";
const write = (text, name = "note.md") => writeFileSync(join(process.env.REPO, name), text);

await page.goto(address);
await page.goto(plan + "/task/NOTE-1");
await page.evaluate(() => (globalThis.whole = true)); // gone after any reload

// shows waits until the page shows a status, and checks that nothing of it is missing.
async function shows(status) {
  await page.locator("#task-head .status").filter({ hasText: status }).first().waitFor();
  check((await page.locator("#task-head h1").textContent()).startsWith("NOTE-1"), "the title is gone");
  check((await page.locator("#criteria tbody tr").count()) === 2, "the criteria are gone");
  check((await page.locator("#around").textContent()).includes("LIST-1"), "the inputs are gone");
  check(await page.evaluate(() => globalThis.whole), "the page was loaded anew");
}

await step("it waits for its input, then it is ready", async () => {
  await shows("pending");
  await wf("run").catch((err) => check(err.code === 3, String(err)));
  await shows("ready");
});

const form = page.locator("#do-review form");
await step("a version comes, and with it the form to review it; a form that somebody fills in stays", async () => {
  const mine = page.locator("#do-submit");
  await mine.locator("input[type=file]").setInputFiles({ name: "note.md", mimeType: "text/plain", buffer: Buffer.from("# Mine\n") });
  await mine.getByLabel("What was done").fill("my own");
  write("# Note\n\nfirst\n");
  await wf("submit", "NOTE-1", "note.md");
  await shows("awaiting review");
  check((await mine.getByLabel("What was done").inputValue()) === "my own", "what was typed is gone");
  check(await mine.getByLabel("What was done").evaluate((e) => e === document.activeElement), "the focus is gone");
  check((await mine.locator("input[type=file]").evaluate((e) => e.files.length)) === 1, "the chosen file is gone");
  await mine.getByText("Hand in a version of your own").click();
  await form.getByRole("button", { name: "Approve v1" }).waitFor();
  await page.locator("#version-v1").waitFor();
});

await step("what is typed stays, with the cursor in it, when something else happens", async () => {
  const why = form.getByLabel("Why, and what to change");
  await why.fill("Half a sent");
  await form.getByRole("group", { name: /A1/ }).getByLabel("fail").check();
  await why.focus();
  await wf("waive", "NOTE-1", "--criterion", "A2", "-m", "long is fine");
  await page.locator("#versions").getByText("waived").waitFor();
  await page.keyboard.type("ence");
  check((await why.inputValue()) === "Half a sentence", await why.inputValue());
  check(await form.getByRole("group", { name: /A1/ }).getByLabel("fail").isChecked(), "the choice is gone");
});

await step("a newer version keeps what was written, and takes back what was chosen", async () => {
  write("# Note\n\nsecond\n");
  await wf("submit", "NOTE-1", "note.md");
  await form.getByRole("button", { name: "Approve v2" }).waitFor();
  await form.getByText("v2 came while you wrote about v1").waitFor();
  check((await form.getByLabel("Why, and what to change").inputValue()) === "Half a sentence", "the text is gone");
  check((await form.locator("input:checked").count()) === 0, "a choice about v1 is one about v2");
  await shows("awaiting review");
});

await step("somebody else rejects it, hands in again, and approves", async () => {
  await form.getByLabel("Why, and what to change").focus();
  await wf("review", "NOTE-1", "--reject", "-m", "No second.");
  await shows("to be made again");
  check(await form.getByLabel("Why, and what to change").evaluate((e) => e === document.activeElement), "the form closed over who writes in it");
  await page.getByText("No second.").first().waitFor();
  write("# Note\n\nthird\n");
  await wf("submit", "NOTE-1", "note.md");
  await shows("awaiting review");
  check((await page.locator("#versions article").count()) === 3, "a version is missing");
});

await step("nothing is recorded that nobody chose, and what is refused is not lost", async () => {
  const other = await context.newPage();
  const theirs = other.locator("#do-review form");
  await other.goto(plan + "/task/NOTE-1");
  check((await theirs.locator("input:checked").count()) === 0, "a verdict is preset");
  await theirs.getByText("records it as not looked at one by one").waitFor();
  const evidence = theirs.getByRole("group", { name: /A2/ }).getByLabel("Evidence");
  await evidence.fill("looked at line 3");
  await theirs.getByRole("button", { name: "Reject v3" }).click();
  await said(other, "alert", "a rejection says why");
  check((await evidence.inputValue()) === "looked at line 3", "what was typed is gone after the refusal");
  await theirs.getByRole("link", { name: "note.md" }).click();
  await other.getByRole("heading", { name: "Note", exact: true }).waitFor();
  await other.goBack();
  check((await evidence.inputValue()) === "looked at line 3", "what was typed is gone after another page");
  await theirs.getByRole("group", { name: /A1/ }).getByLabel("pass").check();
  await theirs.getByRole("button", { name: "Approve v3" }).click();
  await said(other, "status", "NOTE-1: approve v3");
  const review = other.getByRole("group", { name: "APPROVED.md" });
  check(/A2.*not judged.*looked at line 3/.test((await review.innerText()).replace(/\s+/g, " ")), await review.innerText());
  await other.locator("#do-review > summary").click();
  check((await evidence.inputValue()) === "", "what was recorded is still a draft");
  await other.close();
  await shows("done");
  check((await page.locator("#around").textContent()).includes("POST-1"), "what needs it is gone");
  await audit(page, "after a life");
});

await step("the plan itself changes while somebody looks for a task, and writes", async () => {
  const other = await context.newPage();
  await other.goto(plan);
  await drawn(other);
  await other.evaluate(() => (globalThis.whole = true));
  await other.getByLabel("Search").fill("post");
  await other.locator("#do-session > summary").click();
  const why = other.locator("#do-session").getByLabel("Why");
  await why.fill("going h");
  await wf("add", "A poster", "-d", "poster.txt");
  await other.locator('#tree li[data-task="POST-2"]').filter({ hasText: "A poster" }).waitFor();
  await other.locator('#graph g[data-task="POST-2"]').waitFor();
  await other.keyboard.type("ome");
  check((await why.inputValue()) === "going home", await why.inputValue());
  check((await other.locator("#found").textContent()) === "2 of 4 tasks shown", await other.locator("#found").textContent());
  check(await other.evaluate(() => globalThis.whole), "the page was loaded anew");
  const next = other.locator("#waits li", { hasText: "POST-2" }).getByRole("link", { name: "Hand in" });
  await next.focus();
  await wf("next", "POST-1", "--claim", "--agent", "ann");
  await other.locator("#waits li", { hasText: "POST-1" }).waitFor({ state: "detached" });
  check(await next.evaluate((e) => e === document.activeElement), "the focus is gone, or on another task's button");
  await wf("next", "POST-1", "--release", "1");
  await other.locator("#waits li", { hasText: "POST-1" }).waitFor();
  check(await next.evaluate((e) => e === document.activeElement), "the focus went to another task's button");
  await wf("pause");
  await other.getByText("A form in which you wrote is not offered now").waitFor();
  await wf("resume");
  await other.getByText("A form in which you wrote is not offered now").waitFor({ state: "hidden" });
  check((await why.inputValue()) === "going home", "what was written did not come back");
  await other.close();
});

await step("the list of plans is live, too", async () => {
  const other = await context.newPage();
  await other.goto(base + "/plans");
  await other.getByText("WFS-life").first().waitFor();
  await wf("pause");
  await other.getByRole("listitem").filter({ hasText: "WFS-life" }).getByText("paused").waitFor();
  await wf("resume");
  await other.getByText("paused").waitFor({ state: "hidden" });
  await other.close();
});

await step("seven windows, one stream", async () => {
  const windows = [page];
  for (let i = 0; i < 6; i++) {
    const other = await context.newPage();
    await other.goto(plan + (i % 2 ? "/task/POST-1" : ""));
    windows.push(other);
  }
  const visible = await Promise.all(windows.map((w) => w.evaluate(() => document.visibilityState)));
  check(visible.every((v) => v === "visible"), `windows: ${visible}`);
  const locks = await page.evaluate(() => navigator.locks.query());
  check(locks.held.length === 1 && locks.pending.length === windows.length - 1, JSON.stringify(locks));
  // The one that listens goes; another takes over.
  await page.close();
  write("hello\n", "post.md");
  await wf("submit", "POST-1", "post.md");
  for (const [i, w] of windows.slice(1).entries()) {
    await w.locator(i % 2 ? "#task-head" : '#tree li[data-task="POST-1"]').filter({ hasText: "awaiting review" }).waitFor();
  }
});

await step("nobody complained", async () => {
  check(complaints.length === 0, complaints.join("\n"));
});
await context.close();
