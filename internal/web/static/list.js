// The list of tasks: fold, search, filter, and stay up to date.
import { announce, at, morph, onMoved, plan, tick, word } from "/static/page.js";

const tree = document.getElementById("tree");
const search = document.getElementById("search");
const boxes = [...document.querySelectorAll('#find input[name="class"]')];
const rows = new Map(); // by task
for (const item of tree.querySelectorAll("li[data-task]")) {
  rows.set(item.dataset.task, { item, line: item.querySelector(":scope > .line") });
}

// The picture hears of what is filtered and of what has changed.
export const bus = new EventTarget();
export const tasks = new Map(); // class and status by task, once they are known
for (const [id, row] of rows) {
  tasks.set(id, { c: row.item.dataset.class, s: row.line.querySelector(".st").textContent });
}
export const parents = new Map();
for (const [id, row] of rows) {
  const above = row.item.parentElement.closest("li[data-task]");
  if (above) {
    parents.set(id, above.dataset.task);
  }
}
export const titleOf = (id) => rows.get(id)?.line.querySelector(".name").textContent || "";
export const has = (id) => rows.has(id);

tree.addEventListener("click", (event) => {
  const button = event.target.closest("button.fold");
  if (!button) {
    return;
  }
  const open = button.getAttribute("aria-expanded") !== "true";
  const item = button.closest("li");
  button.setAttribute("aria-expanded", String(open));
  button.setAttribute("aria-label", word(open ? "Fold %s" : "Unfold %s", item.dataset.task));
  item.querySelector(":scope > ul").hidden = !open;
});

// filter shows the tasks that the search and the boxes ask for, and the goals that they are in.
export function wanted(id) {
  const row = rows.get(id);
  const shown = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
  const text = search.value.trim().toLowerCase();
  return !row || (shown.has(row.item.dataset.class) && (!text || row.line.textContent.toLowerCase().includes(text)));
}

function filter() {
  const shown = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
  const text = search.value.trim().toLowerCase();
  const all = shown.size === boxes.length && !text;
  const keep = new Set();
  let hits = 0;
  for (const [id, row] of rows) {
    if (all || (shown.has(row.item.dataset.class) && (!text || row.line.textContent.toLowerCase().includes(text)))) {
      hits++;
      for (let up = id; up && !keep.has(up); up = parents.get(up)) {
        keep.add(up);
      }
    }
  }
  for (const [id, row] of rows) {
    row.item.hidden = !keep.has(id);
  }
  document.getElementById("found").textContent = all ? "" : word("%d of %d tasks shown", hits, rows.size);
  bus.dispatchEvent(new CustomEvent("filter", { detail: { all, text, shown } }));
}
let soon = 0;
document.getElementById("find").addEventListener("input", () => {
  cancelAnimationFrame(soon);
  soon = requestAnimationFrame(filter);
});
document.getElementById("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const hit = [...rows.values()].find((row) => !row.item.hidden && row.line.textContent.toLowerCase().includes(search.value.trim().toLowerCase()));
  hit?.line.querySelector("a").focus();
});

// choose shows in the list which task is chosen in the picture.
export function choose(id) {
  tree.querySelector(".line.chosen")?.classList.remove("chosen");
  rows.get(id)?.line.classList.add("chosen");
}

// apply takes over the state of all tasks.
export function apply(fresh, critical) {
  const changed = [];
  const path = new Set(critical || []);
  for (const [id, now] of Object.entries(fresh)) {
    const was = tasks.get(id);
    tasks.set(id, now);
    const row = rows.get(id);
    if (!row) {
      continue;
    }
    if (was && was.s !== now.s) {
      changed.push([id, now]);
    }
    if (row.item.dataset.class !== now.c) {
      row.line.classList.remove(row.item.dataset.class);
      row.line.classList.add(now.c);
      row.item.dataset.class = now.c;
    }
    setText(row.line.querySelector(".st"), now.s);
    setText(row.line.querySelector(".notes"), now.n || "");
    row.line.classList.toggle("critical", path.has(id));
  }
  return changed;
}

function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

async function update() {
  const reply = await fetch(plan + "/live");
  if (!reply.ok) {
    return;
  }
  const live = await reply.json();
  if (live.shape !== tree.dataset.shape) {
    location.reload(); // the plan itself has changed
    return;
  }
  for (const [id, html] of Object.entries(live.sections)) {
    const section = document.getElementById(id);
    const now = document.createElement("template");
    now.innerHTML = html; // made by the server from the same templates as the page
    morph(section, now.content);
  }
  tick();
  const changed = apply(live.tasks, live.critical);
  const counts = new Map();
  for (const row of rows.values()) {
    counts.set(row.item.dataset.class, (counts.get(row.item.dataset.class) || 0) + 1);
  }
  for (const count of document.querySelectorAll("[data-count]")) {
    setText(count, String(counts.get(count.dataset.count) || 0));
  }
  if (changed.length > 0) {
    announce(changed.slice(0, 5).map(([id, now]) => word("%s is now %s", id, now.s)).join(". "));
    filter();
  }
  bus.dispatchEvent(new CustomEvent("state", { detail: live }));
}
if (!at) {
  onMoved(update);
}
