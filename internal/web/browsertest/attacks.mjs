// What a deliverable, or another page, tries to do to the page.
import { check, git, open, step } from "./browser.mjs";
import { createServer } from "node:http";

const { context, page, complaints } = await open();
const address = process.env.ADDRESS;
const base = new URL(address).origin;
const port = new URL(address).port;
const plan = base + "/plan/WFS-release-page";
const tip = () => git("rev-parse", "refs/workflow/WFS-release-page");

// what a page of somebody else gets to see of the requests that come to it
const heard = [];
let body = "";
const evil = createServer((request, response) => {
  heard.push(request.url + " " + (request.headers.cookie || ""));
  response.setHeader("Content-Type", "text/html");
  response.end(body);
});
await new Promise((done) => evil.listen(0, "127.0.0.1", done));
const evilPort = evil.address().port;

await page.goto(address);
await page.goto(plan);
const token = await page.locator('input[name="page"]').first().getAttribute("value");
const before = await tip();

await step("a deliverable's script does not run by itself", async () => {
  await page.goto(plan + "/task/PAGE-1/file/v1/index.html");
  const frame = page.frameLocator("iframe");
  await frame.getByRole("heading", { name: "The page" }).waitFor();
  check((await frame.locator("#said").textContent()) === "", "it ran");
});

await step("when it is let run, it reaches neither the page nor anything else", async () => {
  await page.getByRole("link", { name: "Run its scripts" }).click();
  const frame = page.frameLocator("iframe");
  await frame.locator("#said", { hasText: "ran to its end" }).waitFor();
  const said = await frame.locator("#said").textContent();
  for (const want of ["parent: refused", "cookie: refused", "storage: refused", "fetch: refused", "origin: null", "style: applied"]) {
    check(said.includes(want), `it says: ${said}`);
  }
  await page.waitForTimeout(500);
  check(page.url().startsWith(plan), `the page is now ${page.url()}`);
  check((await page.title()).startsWith("PAGE-1"), await page.title());
  check(context.pages().length === 1, "it opened a window");
  check(heard.length === 0, `it sent ${heard}`);
});

await step("its address opened by itself, with nothing around it that holds its scripts, is refused", async () => {
  const raw = await page.locator("iframe").getAttribute("src");
  const answer = await page.goto(base + raw);
  check(answer.status() === 403, `status ${answer.status()}`);
  check((await page.locator("body").textContent()).includes("open it from the page of its file"), "it says nothing");
  check((await page.locator("#said").count()) === 0, "it is shown");
});

await step("the page can't be put into a frame", async () => {
  body = `<iframe src="${plan}"></iframe>`;
  await page.goto(`http://127.0.0.1:${evilPort}/frame`);
  await page.waitForTimeout(300);
  check(page.frames().every((f) => !f.url().startsWith(plan)), "it is in a frame");
});

for (const [where, host] of [["another site", `evil.example:${evilPort}`], ["another port of this machine", `127.0.0.1:${evilPort}`]]) {
  await step(`a form of ${where} records nothing`, async () => {
    body = `<form method="post" action="${plan}/do/retry"><input name="page" value="${token}"><input name="task" value="LOGO-1"></form><script>document.forms[0].submit()</script>`;
    const answer = page.waitForResponse((r) => r.url().includes("/do/retry"));
    await page.goto(`http://${host}/form`, { waitUntil: "commit" });
    check((await answer).status() === 403, `status ${(await answer).status()}`);
    await page.waitForLoadState();
    check((await tip()) === before, "it was recorded");
  });

  await step(`a script of ${where} reads nothing and records nothing`, async () => {
    body = "<p>evil</p>";
    await page.goto(`http://${host}/script`);
    const read = await page.evaluate(async ([plan, token]) => {
      const tries = [];
      for (const [url, init] of [
        [plan, {}], [plan + "/live", { credentials: "include" }], [plan, { mode: "no-cors", credentials: "include" }],
        [plan + "/do/retry", { method: "POST", credentials: "include", body: new URLSearchParams({ page: token, task: "LOGO-1" }) }],
        [plan + "/do/retry", { method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({ page: token, task: "LOGO-1" }) }],
      ]) {
        try {
          const reply = await fetch(url, init);
          tries.push(await reply.text());
        } catch {
          tries.push("");
        }
      }
      return tries;
    }, [plan, token]);
    check(read.every((text) => !text.includes("Release page")), "it read the page");
    check((await tip()) === before, "it was recorded");
  });
}

await step("a name that is bound to this address gets nothing", async () => {
  for (const path of ["/", "/" + new URL(address).search, "/plan/WFS-release-page", "/static/page.js"]) {
    const answer = await page.goto(`http://evil.example:${port}${path}`);
    check(answer.status() === 421, `${path}: status ${answer.status()}`);
    check(!(await page.content()).includes("Release page"), "the page is shown");
  }
});

await step("a path that climbs leads nowhere", async () => {
  await page.goto(plan + "/task/PAGE-1/file/v1/index.html");
  const raw = await page.locator("iframe").getAttribute("src");
  const dir = raw.slice(0, raw.lastIndexOf("/"));
  for (const path of ["/..%2f..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "/..%5c..%5cplan.json", "/.%00./x"]) {
    for (const start of [dir, "/static", "/plan/WFS-release-page/task/PAGE-1/file/v1"]) {
      const status = await page.evaluate(async (url) => {
        const reply = await fetch(url);
        const text = await reply.text();
        return text.includes("root:") || text.includes("schema_version") ? "read it" : reply.status;
      }, start + path);
      check(status === 404 || status === 400, `${start}${path}: ${status}`);
    }
  }
});

await step("without the cookie there is nothing", async () => {
  await context.clearCookies();
  const answer = await page.goto(plan);
  check(answer.status() === 403, `status ${answer.status()}`);
});

await step("no dialog was opened", async () => {
  check(!complaints.some((text) => text.startsWith("a dialog")), complaints.join("\n"));
});
evil.close();
await context.close();
