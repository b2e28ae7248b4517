// A plan of 1,000 tasks: when something is to be seen, and how smoothly the picture moves.
import { check, drawn, open, shot, step } from "./browser.mjs";

const { context, page } = await open();
const address = process.env.ADDRESS;
const strict = Boolean(process.env.STRICT_TIMES);
await page.goto(address);
const plan = page.url();

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
