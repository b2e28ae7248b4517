// What every page has: it stays up to date, counts the time of what runs, and says so to who can't see it. Without this
// script all is there too, as it was when the page was loaded.

const words = JSON.parse(document.body.dataset.words) || {};

// word is a text in the page's language, with %s and %d filled in.
export function word(text, ...values) {
  let i = 0;
  return (words[text] || text).replace(/%[sd]/g, () => String(values[i++]));
}

export const plan = document.body.dataset.plan || "";
export const at = document.body.dataset.at || "";

// announce has a screen reader say something.
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

// onMoved calls f after a plan or a claim has moved, never twice at once and not more often than twice a second.
const listeners = [];
export function onMoved(f) {
  listeners.push(f);
}

let waiting = false;
let again = false;
async function moved() {
  if (waiting) {
    again = true;
    return;
  }
  waiting = true;
  for (const f of listeners) {
    try {
      await f();
    } catch (err) {
      console.warn(err);
    }
  }
  setTimeout(() => {
    waiting = false;
    if (again) {
      again = false;
      moved();
    }
  }, 400);
}

// A page that nobody sees does not listen: a browser has only a few connections for all pages of a server.
let source = null;
function connect() {
  const note = document.getElementById("connection");
  let last = null;
  source = new EventSource(plan + "/events");
  source.addEventListener("moved", (event) => {
    if (last !== event.data) {
      last = event.data;
      moved(); // also at first, for what happened while the page was on its way
    }
  });
  source.onopen = () => { note.hidden = true; };
  source.onerror = () => {
    note.textContent = word("Connection lost; trying again");
    note.hidden = false;
  };
}

function listen() {
  source?.close();
  if (document.visibilityState === "visible") {
    connect();
  }
}
addEventListener("pagehide", () => source?.close());

// shown has the parts as they came from the server: the page itself changes in them what is open, and the time.
const shown = new Map([...document.querySelectorAll("[data-live]")].map((part) => [part.id, part.innerHTML]));

// refresh replaces the parts of the page that are marked data-live by what the server has of them now.
async function refresh() {
  const parts = [...document.querySelectorAll("[data-live]")];
  if (parts.length === 0 || at) {
    return;
  }
  const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!reply.ok) {
    return;
  }
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  for (const part of parts) {
    const now = fresh.getElementById(part.id);
    if (now && now.innerHTML !== shown.get(part.id)) {
      const open = new Set([...part.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
      shown.set(part.id, now.innerHTML);
      part.replaceChildren(...now.childNodes);
      for (const summary of part.querySelectorAll("details > summary")) {
        if (open.has(summary.textContent)) {
          summary.parentElement.open = true;
        }
      }
    }
  }
  // A section that has come or gone, or a form that is no longer right: forms are left alone while somebody writes.
  const shape = (doc) => [...doc.querySelectorAll("[data-live], main form input[type=hidden]:not([name=page])")].map((e) => e.id + e.value).join();
  if (shape(fresh) !== shape(document)) {
    const dirty = [...document.querySelectorAll("main form")].some((form) => form.dataset.touched);
    if (!dirty && !document.activeElement?.closest("main form")) {
      document.querySelector("main").replaceChildren(...fresh.querySelector("main").childNodes);
      for (const part of document.querySelectorAll("[data-live]")) {
        shown.set(part.id, part.innerHTML);
      }
      prepareForms();
      const title = document.querySelector("#task-head .status");
      if (title) {
        announce(word("%s is now %s", document.title.split(" ")[0], title.textContent.trim()));
      }
    } else if (!document.getElementById("changed")) {
      const note = document.createElement("p");
      note.className = "warn";
      note.id = "changed";
      note.setAttribute("role", "status");
      note.textContent = word("The page has changed: load it again");
      document.querySelector(".do")?.prepend(note);
    }
  }
  tick();
}

// prepareForms keeps a form from being sent twice, and remembers that somebody has begun to fill it in.
function prepareForms() {
  for (const form of document.querySelectorAll("main form")) {
    if (form.dataset.ready) {
      continue;
    }
    form.dataset.ready = "yes";
    form.addEventListener("input", () => { form.dataset.touched = "yes"; });
    if (form.method === "post") {
      form.addEventListener("submit", () => {
        // After the form's data have been taken: a disabled button would not be part of it.
        setTimeout(() => {
          for (const button of form.querySelectorAll("button")) {
            button.disabled = true;
          }
          announce(word("Carrying it out ..."));
        });
      });
    }
  }
}

function elapsed(since) {
  const seconds = Math.max(0, Math.round((Date.now() - new Date(since).getTime()) / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts[0] > 0 ? `${parts[0]} h ${parts[1]} min` : parts[1] > 0 ? `${parts[1]} min ${parts[2]} s` : `${parts[2]} s`;
}

export function tick() {
  for (const time of document.querySelectorAll("time[data-since]")) {
    time.textContent = elapsed(time.dataset.since);
  }
}

// tails brings the ends of logs up to date: what is printed moves no ref.
async function tails() {
  for (const log of document.querySelectorAll("[data-tail]")) {
    const reply = await fetch(log.dataset.tail);
    if (reply.ok && log.isConnected) {
      const text = await reply.text();
      if (text && text !== log.textContent) {
        const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
        log.textContent = text;
        if (atEnd) {
          log.scrollTop = log.scrollHeight;
        }
      }
    }
  }
}

// A page that the browser kept while another was shown is loaded anew: its forms may be of yesterday.
addEventListener("pageshow", (event) => {
  if (event.persisted) {
    location.reload();
  }
});
if (new URLSearchParams(location.search).has("said")) {
  document.getElementById("said")?.scrollIntoView({ block: "nearest" });
  const url = new URL(location.href);
  url.searchParams.delete("said");
  history.replaceState(null, "", url);
}
prepareForms();
tick();
setInterval(tick, 1000);
if (plan) {
  setInterval(() => tails().catch(() => {}), 1000);
  onMoved(refresh);
  listen();
  document.addEventListener("visibilitychange", listen);
}
