// A person reviews a change of the repository in the page: what changed, side by side, what an earlier review said of a line,
// two versions beside each other; rejects, approves, lands.
import { audit, check, git, open, said, step, wf } from "./browser.mjs";

const { page } = await open();
const address = process.env.ADDRESS;
const base = new URL(address).origin;
const task = base + "/plan/WFS-calculator/task/ADD-1";

await step("the files that changed, by their own names", async () => {
  await page.goto(address);
  await page.goto(task);
  const files = await page.locator("#version-v1 ~ ul.changed li").allTextContents();
  const all = files.join("\n");
  check(files.length === 4, all);
  check(/src\/calc\.sh changed.*100644 → 100755.*\+2 −1/.test(all), all);
  check(/src\/new name\.txt renamed was src\/old\.txt.*\+0 −0/.test(all), all);
  check(/src\/logo\.bin added.*binary/.test(all), all);
  check(/src\/gone\.txt removed.*\+0 −1/.test(all), all);
  check(!/\b[ab]\/src/.test(await page.locator("#versions").textContent()), "paths begin with a or b");
  await audit(page, "a task with a change");
});

await step("what an earlier version changes, with what was said of a line", async () => {
  await page.locator("#version-v1 ~ ul.changed").getByRole("link", { name: "src/calc.sh" }).click();
  await page.waitForURL(/compare\?b=v1#file-/);
  await page.getByRole("heading", { level: 1, name: "What v1 changes" }).waitFor();
  const row = page.locator(".diff tr.place");
  check((await row.count()) === 1, "the remark is not in the lines");
  check((await row.textContent()).includes("src/calc.sh:2: name it well"), await row.textContent());
  const line = await row.evaluate((r) => r.previousElementSibling.textContent);
  check(line.includes("badname()"), line);
  await audit(page, "a change");
});

await step("two versions beside each other", async () => {
  await page.locator('select[name=a]').selectOption("v1");
  await page.locator('select[name=b]').selectOption("v2");
  await page.getByRole("button", { name: "Side by side" }).click();
  await page.waitForURL(/a=v1&b=v2/);
  const marked = (await page.locator("ins").allTextContents()).join(" ");
  check(marked.includes("add"), marked);
  check((await page.locator("section.change").count()) === 1, "more than one file differs between the versions");
});

await step("reject a line that is not there, then with one that is", async () => {
  await page.goto(task);
  const form = page.locator("#do-review");
  await form.getByLabel("Why, and what to change").fill("src/calc.sh:99: no");
  await form.getByRole("button", { name: "Reject v2" }).click();
  await page.getByText("src/calc.sh has 3 lines in v2").waitFor();
  await form.getByRole("link", { name: "the change, side by side" }).click();
  await page.waitForURL(/compare\?b=v2$/);
  await page.goBack();
});

await step("approve it, and land it", async () => {
  await page.goto(task);
  const form = page.locator("#do-review");
  await form.getByRole("group", { name: /A2/ }).getByLabel("pass").check();
  await form.getByLabel("Why, and what to change").fill("src/calc.sh:2: a good name");
  await form.getByRole("button", { name: "Approve v2" }).click();
  await said(page, "status", "ADD-1: approve v2");
  await page.goto(base + "/plan/WFS-calculator");
  check((await page.locator("#export-title").count()) === 0, "a plan of changes offers an export");
  await page.locator("#do-land").getByRole("button", { name: "Land (1)" }).click();
  await said(page, "status", "ADD-1 v2 landed on main");
  await page.locator("#tree").filter({ hasText: "landed on main as" }).waitFor(); // by the live update
  const landed = await git("log", "-1", "--format=%s %(trailers:key=Wf-Artifact)", "main");
  check(landed.startsWith("Add") && landed.includes("Wf-Artifact: v2"), landed);
});

await wf("verify");
await page.context().browser().close();
