// A person takes a plan from its beginning to its end in the page alone: runs it, types what it requires, hands in a version
// that they write there, mends it after a rejection, retries what failed, stops a run.
import { audit, check, git, open, said, step, wf } from "./browser.mjs";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { page, complaints } = await open();
const repo = process.env.REPO;
const plan = new URL(process.env.ADDRESS).origin + "/plan/WFS-release-note";
await page.goto(process.env.ADDRESS);
await page.goto(plan);
const waits = page.locator("#waits li");

await step("what waits has a title and an action", async () => {
  await waits.filter({ hasText: "LIST-1" }).filter({ hasText: "List of changes" }).waitFor();
  check(!/git wf/.test(await page.locator("#waits").innerText()), await page.locator("#waits").innerText());
  await waits.filter({ hasText: "LIST-1" }).getByRole("link", { name: "Answer" }).click();
  await page.waitForURL(/LIST-1#do-answer$/);
});

await step("type what a task requires", async () => {
  await page.locator("#do-answer").getByLabel("Your answer").fill("1.3");
  await page.locator("#do-answer").getByRole("button", { name: "Hand in" }).click();
  await said(page, "status", "1 file handed in for since");
  await audit(page, "a task after its answer");
});

await step("run the plan, from what the page said", async () => {
  await page.locator("#said").getByRole("button", { name: "Run the plan" }).click();
  await page.waitForURL(/WFS-release-note(\?|$)/);
  await said(page, "status", "the run has begun");
  await page.locator("#run").getByText("How the last run ended").waitFor();
  await page.locator('#tree li[data-task="LIST-1"]').filter({ hasText: "done" }).waitFor();
  check((await git("log", "--format=%s", "refs/workflow/WFS-release-note")).includes("LIST-1: approve v1"), "it did not run");
});

await step("a version that is written in the page", async () => {
  await waits.filter({ hasText: "NOTE-1" }).getByRole("link", { name: "Hand in" }).click();
  const form = page.locator("#do-submit");
  await form.getByRole("button", { name: "Hand in" }).click();
  await said(page, "alert", "nothing is handed in");
  await form.getByLabel("out/note.md").fill("# Note\n\n  indented, and <b>so on</b>");
  await form.getByLabel("What was done").fill("-m written");
  await form.getByRole("button", { name: "Hand in" }).click();
  await said(page, "status", "NOTE-1: v1 by Ann Author");
  await audit(page, "a task that a person does");
});

await step("a rejected version can be mended where it is", async () => {
  const review = page.locator("#do-review");
  await review.getByLabel("Why, and what to change").fill("Name the list.");
  await review.getByRole("button", { name: "Reject v1" }).click();
  await said(page, "status", "NOTE-1: reject v1");
  const field = page.locator("#do-submit").getByLabel("out/note.md");
  check((await field.inputValue()) === "# Note\n\n  indented, and <b>so on</b>\n", await field.inputValue());
  await field.fill("# Note\n\neverything since 1.3");
  await page.locator("#do-submit").getByRole("button", { name: "Hand in" }).click();
  await said(page, "status", "NOTE-1: v2 by Ann Author");
  await page.locator("#do-submit > summary").click();
  await page.locator("#do-submit").getByLabel("or files").setInputFiles({ name: "note.md", mimeType: "text/plain", buffer: Buffer.from("# Note 3\n") });
  await page.locator("#do-submit").getByRole("button", { name: "Hand in" }).click();
  await said(page, "status", "NOTE-1: v3 by Ann Author");
  const files = await git("ls-tree", "-r", "--name-only", "refs/workflow/WFS-release-note");
  check(/NOTE-1\/artifacts\/v3\/files\/out\/note.md/.test(files), files);
  await review.getByRole("group", { name: /A1/ }).getByLabel("pass").check();
  await review.getByRole("button", { name: "Approve v3" }).click();
  await said(page, "status", "NOTE-1: approve v3");
});

await step("retry what failed, from the list", async () => {
  await page.goto(plan);
  writeFileSync(join(repo, "slow"), "");
  await waits.filter({ hasText: "LOGO-1" }).getByRole("button", { name: "Retry LOGO-1" }).click();
  await said(page, "status", "LOGO-1: retry");
  check(page.url().startsWith(plan) && !page.url().includes("task"), page.url());
});

await step("stop a run", async () => {
  await page.locator("#run").getByRole("button", { name: "Run the plan" }).click();
  await page.locator("#running").getByText("LOGO-1").waitFor();
  await page.locator("#run").getByRole("button", { name: "Stop it" }).click();
  await page.locator("#run").getByText("How the last run ended").waitFor();
  await page.locator('#tree li[data-task="LOGO-1"]').filter({ hasText: "ready" }).waitFor();
  rmSync(join(repo, "slow"));
});

await step("to the end", async () => {
  writeFileSync(join(repo, "paint"), "");
  await page.locator("#run").getByRole("button", { name: "Run the plan" }).click();
  await page.locator("#summary").filter({ hasText: "done" }).waitFor();
  await page.waitForFunction(() => !document.querySelector("#run button"));
  await page.locator("#run summary").click();
  check((await page.locator("#run pre").innerText()).includes("done, 3 of 3 done"), await page.locator("#run pre").innerText());
  await page.locator("#summary").getByText("Read by nobody but their commands: LIST-1 LOGO-1").waitFor();
  await audit(page, "a finished plan");
});

await step("make what is approved again; what a person made from it is asked about", async () => {
  writeFileSync(join(repo, "more"), "and the page");
  await page.locator("#tree").getByRole("link", { name: "LIST-1" }).click();
  await page.locator("#do-rerun > summary").click();
  await page.locator("#do-rerun").getByLabel("Why").fill("there is more");
  await page.locator("#do-rerun").getByRole("button", { name: "Make LIST-1 again" }).click();
  await said(page, "status", "LIST-1 is made again: there is more");
  await page.locator("#said").getByRole("button", { name: "Run the plan" }).click();
  await waits.filter({ hasText: "NOTE-1" }).filter({ hasText: "v3 was made from LIST-1 v1, approved is v2 with other changes.txt" }).getByRole("link", { name: "Decide" }).click();
  check(!/git wf/.test(await page.locator("#task-head").innerText()), await page.locator("#task-head").innerText());
  await page.locator("#do-holds").getByRole("button", { name: "v3 still holds" }).waitFor();
  await audit(page, "a version whose inputs have changed");
  await page.locator("#do-submit > summary").click();
  check((await page.locator("#do-submit").getByLabel("out/note.md").inputValue()) === "# Note 3\n", "the form has not what there is");
  await page.locator("#do-submit").getByLabel("out/note.md").fill("# Note 4");
  await page.locator("#do-submit").getByRole("button", { name: "Hand in" }).click();
  await said(page, "status", "NOTE-1: v4 by Ann Author");
  await page.locator("#do-review").getByRole("group", { name: /A1/ }).getByLabel("pass").check();
  await page.locator("#do-review").getByRole("button", { name: "Approve v4" }).click();
  await said(page, "status", "NOTE-1: approve v4");
  check((await page.locator("#do-holds").count()) === 0, "it is still asked about");
});

await step("or it still holds", async () => {
  writeFileSync(join(repo, "more"), "and the terminal");
  await wf("rerun", "LIST-1");
  await wf("run");
  await page.locator("#do-holds").getByLabel("Why").fill("The terminal is no news.");
  await page.locator("#do-holds").getByRole("button", { name: "v4 still holds" }).click();
  await said(page, "status", "NOTE-1: v4 holds for LIST-1 v3");
  await page.waitForFunction(() => !document.querySelector("#do-holds"));
  const log = await git("log", "-1", "--format=%B", "refs/workflow/WFS-release-note");
  check(log.includes("The terminal is no news."), log);
});

await step("complete it; then only what opens it again is offered", async () => {
  await page.goto(plan);
  await page.locator("#do-complete > summary").click();
  await page.locator("#do-complete").getByLabel("What is to be said").fill("It is out.");
  await page.locator("#do-complete").getByRole("button", { name: "Complete the plan" }).click();
  await said(page, "status", "completed");
  check((await git("log", "-1", "--format=%b", "refs/workflow/WFS-release-note")).includes("It is out."), "the reason is not recorded");
  check((await page.locator("#do-complete").count()) === 0, "it can be completed again");
  await page.locator("#tree").getByRole("link", { name: "NOTE-1" }).click();
  await page.getByText("nothing is added to it").waitFor();
  check((await page.locator("form[method=post]").count()) === 0, "what is refused is offered");
});

await step("nobody complained", async () => {
  check(complaints.length === 0, complaints.join("\n"));
});
await page.context().close();
