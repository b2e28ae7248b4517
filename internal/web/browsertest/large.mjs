// A plan of 1,000 tasks: when something is to be seen, and how smoothly the picture moves.
import { audit, check, drawn, open, shot, step } from "./browser.mjs";

const { context, page } = await open();
const address = process.env.ADDRESS;
const strict = Boolean(process.env.STRICT_TIMES);
await page.goto(address);
const plan = new URL(address).origin + "/plan/WFS-large";

await step("first paint", async () => {
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    await page.goto(plan);
    await drawn(page);
    least = Math.min(least, await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
  }
  check((await page.locator("#tree li[data-task]").count()) > 1000, "the list is not whole");
  check(least < (strict ? 1000 : 10_000), `first paint after ${least} ms`);
  return `${Math.round(least)} ms`;
});

await step("the first view has what runs", async () => {
  const seen = await page.evaluate(() => {
    const at = (id) => document.getElementById(id).getBoundingClientRect();
    return {
      window: innerHeight, page: document.documentElement.scrollHeight, list: at("tree").height, picture: at("graph").height,
      box: document.querySelector('#graph g[data-task="IMPL-1"] .box').getBoundingClientRect().toJSON(), running: at("running").bottom, pictureTop: at("graph").top,
    };
  });
  const text = JSON.stringify(seen);
  check((await page.locator("#running").textContent()).includes("IMPL-1 "), "what runs is not named");
  check(seen.running < seen.window && seen.pictureTop < seen.window, text);
  check(seen.box.height > 20 && seen.box.top > seen.pictureTop && seen.box.bottom < seen.pictureTop + seen.picture, text);
  check(seen.list < seen.window && seen.page < 5 * seen.window, text);
  check(await page.locator('#tree li[data-task="IMPL-12"]').isVisible(), "the goal with a rejected task is folded");
  check(!(await page.locator('#tree li[data-task="IMPL-992"]').isVisible()), "a goal in which nothing happens is unfolded");
  const bytes = await page.evaluate(() => performance.getEntriesByType("navigation")[0].encodedBodySize);
  check(bytes < 500_000, `the page has ${bytes} bytes`);
  return `${text}, ${bytes} bytes, axe: ${await audit(page, "a large plan")}`;
});

await step("one click shows one status, and the counts agree", async () => {
  const count = (name) => page.locator(`[data-count="${name}"]`).textContent().then(Number);
  let sum = 0;
  for (const name of ["ready", "running", "review", "done", "rejected", "pending", "blocked", "abandoned"]) {
    sum += await count(name);
  }
  check(sum === 1000 && (await page.locator("#summary").textContent()).includes("of 1000"), `${sum} tasks are counted`);
  for (const [name, label] of [["rejected", /^to be made again/], ["running", /^in progress/], ["pending", /^pending/]]) {
    const n = await count(name);
    await page.getByLabel(label).check();
    await page.waitForFunction((want) => document.getElementById("found").textContent === want, `${n} of 1000 tasks shown`);
    const shown = await page.$$eval("#tree li[data-task]:not([data-apart])", (all) => all.filter((e) => e.checkVisibility()).map((e) => e.dataset.class));
    check(n > 0 && shown.length === n && shown.every((c) => c === name), `${name}: ${n} are counted, ${shown.length} shown`);
    await page.getByLabel(label).uncheck();
    await page.waitForFunction(() => document.getElementById("found").textContent === "");
  }
  check(!(await page.locator('#tree li[data-task="IMPL-992"]').isVisible()), "a goal stays unfolded");
});

await step("the picture of all 1,000", async () => {
  const began = Date.now();
  await page.getByRole("button", { name: "Unfold all" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#graph g[data-task]").length > 1000);
  return `${Date.now() - began} ms`;
});

await step("frames a second while panning", async () => {
  const box = await page.locator("#graph").boundingBox();
  const found = [];
  for (const zoomed of [0, 6]) {
    for (let i = 0; i < zoomed; i++) {
      await page.getByRole("button", { name: "Zoom in" }).click();
    }
    await page.waitForTimeout(600);
    await page.evaluate(() => {
      globalThis.frames = [];
      const count = (t) => {
        globalThis.frames.push(t);
        globalThis.counting = requestAnimationFrame(count);
      };
      requestAnimationFrame(count);
    });
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    for (let i = 0; i < 120; i++) {
      await page.mouse.move(box.x + box.width / 2 + 150 * Math.sin(i / 10), box.y + box.height / 2 + 100 * Math.cos(i / 10));
    }
    await page.mouse.up();
    const times = await page.evaluate(() => {
      cancelAnimationFrame(globalThis.counting);
      return globalThis.frames;
    });
    const fps = 1000 * (times.length - 1) / (times.at(-1) - times[0]);
    found.push(`${fps.toFixed(1)} at ${zoomed ? "reading size" : "full view"}`);
    check(fps > (strict ? 55 : 5), `${fps.toFixed(1)} frames a second`);
  }
  return found.join(", ");
});

await step("search and filter", async () => {
  const began = Date.now();
  await page.getByLabel("Search").fill("Piece 777");
  await page.waitForFunction(() => document.querySelectorAll("#tree li[data-task]:not([hidden])").length === 3);
  return `${Date.now() - began} ms`;
});

await step("a picture of it", async () => {
  await page.goto(plan);
  await drawn(page);
  await page.waitForTimeout(500);
  await page.getByRole("button", { name: "Unfold all" }).click();
  await page.waitForFunction(() => document.querySelectorAll("#graph g[data-task]").length > 1000);
  await page.waitForTimeout(500);
  await shot(page, "ui-large");
});
await context.close();
