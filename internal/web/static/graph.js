// The picture of the plan: the server lays it out and draws it, this script moves it, and gives every box the status that
// its task has now.
import { at, plan, word } from "/static/page.js";
import { apply, bus, choose, has, tasks, titleOf } from "/static/list.js";

const view = document.getElementById("graph");
const chosenText = document.getElementById("chosen");
const stage = document.createElement("div");
stage.className = "stage";

let svg = null;
let size = { w: 1, h: 1 };
let x = 0, y = 0, k = 1; // where the picture is, and how large
let drawnAt = 1; // the scale at which it was last drawn sharp
const foldedAtFirst = () => document.getElementById("tree").dataset.fold.split(",").filter(Boolean);
let folded = new Set(foldedAtFirst());
let withChecks = false;
let withCritical = false;
let critical = [];
let chosen = "";
let filterNow = null;
let nodes = new Map(); // by task: the group, its box's place
let edges = []; // {from, to, path}: from needs to
let badges = new Map(); // by class: how its badge is drawn
let settled = false; // the person has moved the picture

// --- moving ---

function place() {
  stage.style.transform = `translate(${x}px, ${y}px) scale(${k / drawnAt})`;
  view.classList.toggle("far", k < 0.35);
}

let frame = 0;
function move() {
  if (!frame) {
    frame = requestAnimationFrame(() => {
      frame = 0;
      place();
    });
  }
}

// sharpen draws the picture anew at the present scale, once nobody zooms any more.
let sharp = 0;
function sharpen() {
  clearTimeout(sharp);
  sharp = setTimeout(() => {
    if (svg && drawnAt !== k) {
      drawnAt = k;
      svg.setAttribute("width", size.w * k);
      svg.setAttribute("height", size.h * k);
      place();
    }
  }, 140);
}

const smallest = 0.05, largest = 3;
function zoom(factor, cx, cy) {
  const next = Math.min(largest, Math.max(smallest, k * factor));
  x = cx - (cx - x) * (next / k);
  y = cy - (cy - y) * (next / k);
  k = next;
  settled = true;
  move();
  sharpen();
}

function fit() {
  const room = view.getBoundingClientRect();
  k = Math.min(1.2, Math.max(smallest, Math.min((room.width - 16) / size.w, (room.height - 16) / size.h)));
  x = (room.width - size.w * k) / 2;
  y = Math.min(8, (room.height - size.h * k) / 2);
  settled = false;
  drawnAt = k;
  svg?.setAttribute("width", size.w * k);
  svg?.setAttribute("height", size.h * k);
  place();
}

// begin shows all of the picture if its boxes can then be told apart. Else it fills the window with the part in which
// somebody works, or has to look, at a size that can be read.
function begin() {
  const few = nodes.size < 60;
  const wide = (view.clientWidth - 16) / size.w;
  const least = few ? 0.8 : 0.35; // below it no text is drawn
  const most = innerHeight * 0.8; // the height of the window that it may take
  const scale = wide < least ? Math.min(few ? 0.85 : 0.8, Math.max(0.5, (most - 24) / size.h)) : Math.min(1.2, wide);
  view.style.height = `${Math.min(most, Math.max(240, size.h * scale + 24))}px`; // no more than it needs
  fit();
  if (k >= least) {
    return;
  }
  k = drawnAt = scale;
  x = y = 0;
  const first = current();
  if (first) {
    x = within(view.clientWidth / 2 - (left + first.x + first.w / 2) * k, view.clientWidth - size.w * k);
    y = within(view.clientHeight / 2 - (margin + first.y + first.h / 2) * k, view.clientHeight - size.h * k);
  }
  svg?.setAttribute("width", size.w * k);
  svg?.setAttribute("height", size.h * k);
  place();
}

// within keeps the picture's beginning between its first place and its last.
const within = (wanted, last) => Math.max(Math.min(0, last), Math.min(0, wanted));

// current is the box to look at first.
function current() {
  for (const wanted of ["running", "rejected", "review", "blocked", "ready"]) {
    for (const [id, node] of nodes) {
      if (tasks.get(id)?.c === wanted && (node.kind !== "goal" || folded.has(id))) {
        return node;
      }
    }
  }
  return undefined;
}

const fingers = new Map();
let dragged = 0;
view.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) {
    return;
  }
  fingers.set(event.pointerId, event);
  dragged = 0;
});
view.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) {
    return;
  }
  const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
  if (fingers.size === 2) {
    const [other] = [...fingers.values()].filter((f) => f.pointerId !== event.pointerId);
    const apart = (f) => Math.hypot(f.clientX - other.clientX, f.clientY - other.clientY);
    const room = view.getBoundingClientRect();
    zoom(apart(event) / Math.max(1, apart(before)), (event.clientX + other.clientX) / 2 - room.left, (event.clientY + other.clientY) / 2 - room.top);
  }
  dragged += Math.abs(dx) + Math.abs(dy);
  if (dragged > 4) {
    if (!view.hasPointerCapture(event.pointerId)) {
      view.setPointerCapture(event.pointerId);
      view.classList.add("moving");
    }
    x += dx / fingers.size;
    y += dy / fingers.size;
    settled = true;
    move();
  }
  fingers.set(event.pointerId, event);
});
for (const end of ["pointerup", "pointercancel"]) {
  view.addEventListener(end, (event) => {
    fingers.delete(event.pointerId);
    view.classList.remove("moving");
  });
}
view.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey && document.activeElement !== view && !settled) {
    return; // somebody scrolls the page past the picture
  }
  event.preventDefault();
  const room = view.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), event.clientX - room.left, event.clientY - room.top);
}, { passive: false });

// --- drawing ---

async function draw() {
  const query = new URLSearchParams();
  if (withChecks) {
    query.set("checks", "1");
  }
  if (folded.size > 0) {
    query.set("fold", [...folded].join(","));
  }
  if (at) {
    query.set("at", at);
  }
  view.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(`${plan}/picture?${query}`);
    if (!reply.ok) {
      throw new Error(await reply.text());
    }
    const fresh = new DOMParser().parseFromString(await reply.text(), "image/svg+xml").documentElement;
    if (fresh.nodeName !== "svg") {
      throw new Error("no picture");
    }
    show(document.adoptNode(fresh));
  } catch (err) {
    console.warn(err);
    view.textContent = word("The plan could not be drawn");
  } finally {
    view.removeAttribute("aria-busy");
  }
}

// Where the drawing begins in the SVG, below its title; and what is left free around it here.
const left = 20, top = 54, margin = 16, above = top - margin;

function show(fresh) {
  svg = fresh;
  svg.setAttribute("aria-hidden", "true"); // the list, and the line below, say it in words
  svg.removeAttribute("role");
  for (const title of svg.querySelectorAll("marker title, :scope > title")) {
    title.remove();
  }
  badges = new Map();
  for (const group of svg.querySelectorAll(".legend > g")) {
    const badge = group.querySelector("path");
    if (badge) {
      badges.set(group.getAttribute("class"), { d: badge.getAttribute("d"), how: badge.getAttribute("class") });
    }
  }
  svg.querySelector(".legend")?.remove();
  nodes = new Map();
  for (const group of svg.querySelectorAll("g[data-task]")) {
    const box = group.querySelector(".box");
    const [bx, by, bw, bh] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
    nodes.set(group.dataset.task, {
      group, x: bx, y: by, w: bw, h: bh, kind: group.getAttribute("class").split(" ")[0], badge: group.querySelector(".solid, .drawn"), was: "",
    });
  }
  size = { w: 40, h: 2 * margin };
  for (const node of nodes.values()) { // without the title and the legend, which the page has itself
    size.w = Math.max(size.w, left + node.x + node.w + margin);
    size.h = Math.max(size.h, margin + node.y + node.h + margin);
  }
  svg.setAttribute("viewBox", `0 ${above} ${size.w} ${size.h}`);
  edges = [];
  for (const path of svg.querySelectorAll("path.edge")) {
    const said = path.querySelector("title")?.textContent.match(/^(\S+) (\S+) (\S+)$/);
    if (said) {
      edges.push({ from: said[1], kind: said[2], to: said[3], path });
    }
  }
  for (const [id, node] of nodes) {
    if (node.kind === "goal" && has(id)) {
      addToggle(id, node);
    }
  }
  stage.replaceChildren(svg);
  view.replaceChildren(stage);
  paint();
  if (settled) {
    drawnAt = 0;
    sharpen();
    place();
  } else {
    begin();
  }
  mark();
}

const svgSpace = "http://www.w3.org/2000/svg";

// addToggle puts a button into the corner of a goal that folds it, or unfolds it.
function addToggle(id, node) {
  const isFolded = folded.has(id);
  const toggle = document.createElementNS(svgSpace, "g");
  toggle.setAttribute("class", "toggle");
  toggle.dataset.fold = id;
  toggle.setAttribute("transform", `translate(${node.x + node.w - 26} ${node.y + 9})`);
  const rect = document.createElementNS(svgSpace, "rect");
  for (const [name, value] of Object.entries({ width: 18, height: 18, rx: 4 })) {
    rect.setAttribute(name, value);
  }
  const sign = document.createElementNS(svgSpace, "path");
  sign.setAttribute("d", isFolded ? "M4 9H14M9 4V14" : "M4 9H14");
  const title = document.createElementNS(svgSpace, "title");
  title.textContent = word(isFolded ? "Unfold %s" : "Fold %s", id);
  toggle.append(title, rect, sign);
  node.group.append(toggle);
}

function toggleFold(id) {
  if (!has(id) || nodes.get(id)?.kind !== "goal") {
    return;
  }
  if (!folded.delete(id)) {
    folded.add(id);
  }
  draw();
}

// --- what is shown of it ---

// paint gives the boxes the statuses that are known now.
function paint() {
  const path = new Set(withCritical ? critical : []);
  for (const [id, node] of nodes) {
    const task = tasks.get(id);
    const name = task ? task.c : "pending";
    const hidden = filterNow && !filterNow.all && !matches(id, name);
    const classes = `${node.kind} ${name}${path.has(id) ? " critical" : ""}${hidden ? " faint" : ""}${id === chosen ? " chosen" : ""}`;
    if (classes !== node.was) {
      node.was = classes;
      node.group.setAttribute("class", classes);
      const look = badges.get(name);
      if (look && node.badge) {
        node.badge.setAttribute("d", look.d);
        node.badge.setAttribute("class", look.how);
      }
      const title = node.group.querySelector("title");
      if (title && task) {
        title.textContent = `${id}: ${titleOf(id)} (${task.s})${task.n ? ", " + task.n : ""}`;
      }
    }
  }
  const before = new Map();
  if (withCritical) {
    critical.forEach((id, i) => before.set(id, critical[i - 1]));
  }
  for (const edge of edges) {
    if (edge.kind === "DEPENDS_ON") {
      const on = before.get(edge.from) === edge.to && edge.to !== undefined;
      edge.path.classList.toggle("critical", on);
      edge.path.setAttribute("marker-end", on ? "url(#wf-critical)" : "url(#wf-needs)");
    }
  }
}

function matches(id, name) {
  if (filterNow.shown.size > 0 && !filterNow.shown.has(name)) {
    return false;
  }
  return !filterNow.text || (id + " " + titleOf(id)).toLowerCase().includes(filterNow.text);
}

// reach is every task that one leads to, along what it needs (from) or what needs it (to).
function reach(id, from, to) {
  const found = new Set();
  const open = [id];
  while (open.length > 0) {
    const now = open.pop();
    for (const edge of edges) {
      if (edge.kind === "DEPENDS_ON" && edge[from] === now && !found.has(edge[to])) {
        found.add(edge[to]);
        open.push(edge[to]);
      }
    }
  }
  return found;
}

// mark shows what the chosen task waits for, and what waits for it.
function mark() {
  const up = chosen ? reach(chosen, "from", "to") : new Set();
  const down = chosen ? reach(chosen, "to", "from") : new Set();
  for (const edge of edges) {
    const isUp = chosen && (edge.from === chosen || up.has(edge.from)) && up.has(edge.to);
    const isDown = chosen && (edge.to === chosen || down.has(edge.to)) && down.has(edge.from);
    edge.path.classList.toggle("up", Boolean(isUp && edge.kind === "DEPENDS_ON"));
    edge.path.classList.toggle("down", Boolean(isDown && edge.kind === "DEPENDS_ON"));
  }
  const node = nodes.get(chosen);
  if (!node) {
    chosenText.replaceChildren();
    return;
  }
  const link = document.createElement("a");
  link.href = `${plan}/task/${encodeURIComponent(chosen)}${at ? "?at=" + at : ""}`;
  link.textContent = chosen;
  const status = tasks.get(chosen)?.s || "";
  const first = document.createElement("p");
  first.append(link, ` ${titleOf(chosen)}, ${status}`);
  const second = document.createElement("p");
  second.className = "soft";
  const list = (set) => [...set].slice(0, 12).join(", ") + (set.size > 12 ? ", …" : "") || word("nothing");
  second.textContent = `${word("needs")}: ${list(up)}. ${word("is needed by")}: ${list(down)}.`;
  chosenText.replaceChildren(first, second);
}

function select(id, follow) {
  chosen = nodes.has(id) ? id : "";
  choose(chosen);
  paint();
  mark();
  const node = nodes.get(chosen);
  if (node && follow) {
    const room = view.getBoundingClientRect();
    const cx = (left + node.x + node.w / 2) * k + x, cy = (margin + node.y + Math.min(node.h, 60) / 2) * k + y;
    if (cx < 40 || cy < 30 || cx > room.width - 40 || cy > room.height - 30) {
      x += room.width / 2 - cx;
      y += room.height / 2 - cy;
      settled = true;
      move();
    }
  }
}

view.addEventListener("click", (event) => {
  if (dragged > 4) {
    return;
  }
  const toggle = event.target.closest(".toggle");
  if (toggle) {
    toggleFold(toggle.dataset.fold);
    return;
  }
  select(event.target.closest("g[data-task]")?.dataset.task || "");
});
view.addEventListener("dblclick", (event) => {
  const id = event.target.closest("g[data-task]")?.dataset.task;
  if (id) {
    open(id);
  }
});

function open(id) {
  location.href = `${plan}/task/${encodeURIComponent(id)}${at ? "?at=" + at : ""}`;
}

// nearest is the task next to the chosen one in a direction.
function nearest(dx, dy) {
  const node = nodes.get(chosen);
  if (!node) {
    return nodes.keys().next().value;
  }
  const centre = (n) => [n.x + n.w / 2, n.y + Math.min(n.h, 46) / 2];
  const [fromX, fromY] = centre(node);
  let best, least = Infinity;
  for (const [id, other] of nodes) {
    const [tx, ty] = centre(other);
    const along = (tx - fromX) * dx + (ty - fromY) * dy;
    const aside = Math.abs((tx - fromX) * dy) + Math.abs((ty - fromY) * dx);
    if (id !== chosen && along > 1 && along + 2.5 * aside < least) {
      least = along + 2.5 * aside;
      best = id;
    }
  }
  return best || chosen;
}

view.addEventListener("keydown", (event) => {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const room = view.getBoundingClientRect();
  const arrow = arrows[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (arrow && event.shiftKey) {
    x -= arrow[0] * 80;
    y -= arrow[1] * 80;
    settled = true;
    move();
  } else if (arrow) {
    select(nearest(...arrow), true);
  } else if (event.key === "+" || event.key === "=") {
    zoom(1.25, room.width / 2, room.height / 2);
  } else if (event.key === "-") {
    zoom(0.8, room.width / 2, room.height / 2);
  } else if (event.key === "0") {
    fit();
  } else if (event.key === "Enter" && chosen) {
    open(chosen);
  } else if ((event.key === "c" || event.key === " ") && chosen) {
    toggleFold(chosen);
  } else if (event.key === "Escape") {
    select("");
  } else {
    return;
  }
  event.preventDefault();
});

document.querySelector(".tools").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  const room = view.getBoundingClientRect();
  switch (button?.dataset.do) {
    case "fit":
      fit();
      break;
    case "in":
      zoom(1.25, room.width / 2, room.height / 2);
      break;
    case "out":
      zoom(0.8, room.width / 2, room.height / 2);
      break;
    case "unfold":
      folded = new Set();
      settled = false;
      draw();
      break;
    case "fold":
      for (const button of document.querySelectorAll("#tree > li > ul > li > .line > button.fold")) {
        folded.add(button.closest("li").dataset.task);
      }
      settled = false;
      draw();
      break;
    case "checks":
      withChecks = !withChecks;
      button.setAttribute("aria-pressed", String(withChecks));
      draw();
      break;
    case "critical":
      withCritical = !withCritical;
      button.setAttribute("aria-pressed", String(withCritical));
      paint();
      break;
  }
});

bus.addEventListener("filter", (event) => {
  filterNow = event.detail;
  paint();
});
bus.addEventListener("state", (event) => {
  critical = event.detail.critical || [];
  paint();
  mark();
});
bus.addEventListener("shape", async () => {
  for (const id of foldedAtFirst().filter((id) => !nodes.has(id))) {
    folded.add(id);
  }
  await draw();
  select(chosen);
});
addEventListener("resize", () => {
  if (!settled) {
    begin();
  }
});

const style = document.createElement("link");
style.rel = "stylesheet";
style.href = "/static/graph.css";
document.head.append(style);

// The list is on the screen first.
requestAnimationFrame(() => setTimeout(async () => {
  const reply = await fetch(`${plan}/live${at ? "?at=" + at : ""}`);
  if (reply.ok) {
    const live = await reply.json();
    critical = live.critical || [];
    apply(live.tasks, live.critical);
  }
  await draw();
  document.body.dataset.drawn = "yes";
}));
