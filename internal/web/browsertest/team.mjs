// Somebody watches a plan with roles from its first order to its end, without loading the page again: what waits, orders
// and what came of them, rounds, seats with their ratings, notes, what is verified.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { audit, check, open, step, wf } from "./browser.mjs";

const { context, page, complaints } = await open();
const hostile = "<img src=x onerror=alert(1)>";

// work runs what can be done without a person.
const work = () => wf("run", "--orchestrator", "policy").catch((err) => check(err.code === 3, String(err)));

async function handIn(text) {
  writeFileSync(join(process.env.REPO, "page.txt"), text);
  await wf("submit", "DEV-1", "page.txt", "-m", text);
}

// says waits until a part of the page says something.
async function says(part, text) {
  try {
    await page.waitForFunction(([p, t]) => document.querySelector(p)?.innerText.replace(/\s+/g, " ").includes(t), [part, text]);
  } catch (err) {
    throw new Error(`${part} says not "${text}" but: ${await page.innerText(part)}`, { cause: err });
  }
}

await step("the page before the first order", async () => {
  await page.goto(process.env.ADDRESS);
  await page.goto(new URL(process.env.ADDRESS).origin + "/plan/WFS-team");
  await page.evaluate(() => (globalThis.whole = true)); // gone after any reload
  await says('[data-task="DEV-1"] .notes', "waits for an order of MAIN-1");
});

await step("orders", async () => {
  await work();
  await says("#decisions", "main (policy) MAIN-1 v1 → test orders TEST-1: Make TEST-1");
  await says("#decisions", "→ dev orders DEV-1: Make DEV-1");
  await says('[data-task="REVIEW-1"] .notes', "waits for an order of MAIN-1");
});

await step("the second round, one seat of two", async () => {
  await handIn(hostile);
  await wf("review", "DEV-1", "--as", "critic", "--reject", "--rating", "clarity=2", "-m", hostile);
  await says('[data-task="DEV-1"] .notes', "round 2 of 3");
  await work();
  await handIn("hello");
  await wf("review", "DEV-1", "--as", "critic", "--approve", "--rating", "clarity=8");
  await says('[data-task="DEV-1"] .notes', "1 of 2 seats (critic 80)");
});

await step("a note", async () => {
  await wf("note", "issues", hostile);
  await says("#noted", hostile);
});

await step("what is verified, and the end", async () => {
  await wf("review", "DEV-1", "--as", "reader", "--approve", "--rating", "clarity=9");
  await says("#summary", "verified 0, done 2");
  await work();
  await says("#summary", "verified 4, done 0");
  await says("#decisions", "finishes: ");
  check(await page.evaluate(() => globalThis.whole), "the page was loaded again");
  return await audit(page, "a plan with roles");
});

await step("seats with their ratings, and the conversation", async () => {
  await page.click('[data-task="DEV-1"] a.id');
  await says("#main", "critic: Ann Author APPROVED 80 clarity 8");
  await page.click("header nav a:nth-child(2)");
  await says("#events", "main (policy) → dev: orders DEV-1: Make DEV-1 again");
  await says("#events", `critic (Ann Author) → dev (Ann Author): rejects DEV-1 v1`);
  check((await page.$$("img[src=x]")).length === 0, "a text became an element");
  check(complaints.length === 0, complaints.join("\n"));
  return await audit(page, "a conversation");
});
await context.close();
