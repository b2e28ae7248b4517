// The list of tasks: fold, search, filter, and stay up to date.
import { announce, at, morph, onMoved, plan, refresh, tend, tick, word } from "/static/page.js";

const tree = document.getElementById("tree");
const search = document.getElementById("search");
const boxes = [...document.querySelectorAll('#find input[name="class"]')];
const rows = new Map(); // by task

// The picture hears of what is filtered and of what has changed.
export const bus = new EventTarget();
export const tasks = new Map(); // class and status by task, once they are known
export const parents = new Map();

// read takes the tasks from the list.
function read() {
  for (const known of [rows, tasks, parents]) {
    known.clear();
  }
  for (const item of tree.querySelectorAll("li[data-task]")) {
    const id = item.dataset.task, line = item.querySelector(":scope > .line");
    rows.set(id, { item, line });
    tasks.set(id, { c: item.dataset.class, s: line.querySelector(".st").textContent });
    const above = item.parentElement.closest("li[data-task]");
    if (above) {
      parents.set(id, above.dataset.task);
    }
  }
}
read();
export const titleOf = (id) => rows.get(id)?.line.querySelector(".name").textContent || "";
export const has = (id) => rows.has(id);

function unfold(button, open) {
  const item = button.closest("li");
  button.setAttribute("aria-expanded", String(open));
  button.setAttribute("aria-label", word(open ? "Fold %s" : "Unfold %s", item.dataset.task));
  item.querySelector(":scope > ul").hidden = !open;
}

tree.addEventListener("click", (event) => {
  const button = event.target.closest("button.fold");
  if (button) {
    unfold(button, button.getAttribute("aria-expanded") !== "true");
  }
});

// asked is what the search and the boxes ask for; no box asks for all.
function asked() {
  const shown = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
  const text = search.value.trim().toLowerCase();
  return { all: shown.size === 0 && !text, shown, text };
}

// filter shows the tasks that are asked for, and the goals that they are in. A status is asked of what is counted, as
// the numbers at the boxes are.
let unfolded = []; // the goals that a filter has unfolded
function filter() {
  const ask = asked();
  const keep = new Set();
  let hits = 0, most = 0;
  for (const [id, row] of rows) {
    const apart = "apart" in row.item.dataset;
    most += apart ? 0 : 1;
    if ((ask.shown.size === 0 || (!apart && ask.shown.has(row.item.dataset.class)))
      && (!ask.text || row.line.textContent.toLowerCase().includes(ask.text))) {
      hits += apart ? 0 : 1;
      for (let up = id; up && !keep.has(up); up = parents.get(up)) {
        keep.add(up);
      }
    }
  }
  for (const [id, row] of rows) {
    row.item.hidden = !keep.has(id);
  }
  for (const button of unfolded) {
    unfold(button, false);
  }
  unfolded = ask.all ? [] : [...tree.querySelectorAll('li:not([hidden]) > .line > .fold[aria-expanded="false"]')];
  for (const button of unfolded) {
    unfold(button, true);
  }
  document.getElementById("found").textContent = ask.all ? "" : word("%d of %d tasks shown", hits, most);
  bus.dispatchEvent(new CustomEvent("filter", { detail: ask }));
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
  if (live.shape !== tree.dataset.shape) { // the plan itself has changed
    await refresh();
    read();
    for (const button of tree.querySelectorAll("button.fold")) {
      unfold(button, button.getAttribute("aria-expanded") === "true");
    }
    filter();
    bus.dispatchEvent(new Event("shape"));
  }
  for (const [id, html] of Object.entries(live.sections)) {
    const section = document.getElementById(id);
    const now = document.createElement("template");
    now.innerHTML = html; // made by the server from the same templates as the page
    morph(section, now.content);
  }
  tend();
  tick();
  const changed = apply(live.tasks, live.critical);
  const counts = new Map();
  for (const row of rows.values()) {
    if ("apart" in row.item.dataset) {
      continue;
    }
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
