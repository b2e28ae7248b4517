// What every page has: it stays up to date, counts the time of what runs, and says so to who can't see it. Without this
// script all is there too, as it was when the page was loaded.

import { tend } from "/static/drafts.js";
import { morph } from "/static/morph.js";
import { follow } from "/static/stream.js";
import { word } from "/static/words.js";

export { morph, tend, word };

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

// connect has the page follow the events of all plans.
let lost = ""; // how, in words
function connect() {
  const note = document.getElementById("connection");
  let last;
  follow((heard, how) => {
    const text = !how ? "" : how === "refused"
      ? word("git wf ui was started anew, and this address is no longer valid. Open the one that it printed, or run: git wf ui")
      : word("Connection lost; trying again. If git wf ui has ended, run it and open the address that it prints: git wf ui");
    if (text !== lost) {
      note.textContent = lost = text;
      note.hidden = !text;
    }
    if (heard !== last) {
      last = heard;
      moved(); // also at first, for what happened while the page was on its way
    }
  });
}

const live = document.querySelector("main[data-live]");

// refresh makes the page what the server has of it now.
export async function refresh() {
  const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!reply.ok) {
    return;
  }
  const status = () => document.querySelector("#task-head .status")?.textContent.trim();
  const before = status();
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  document.title = fresh.title;
  morph(document.querySelector("main"), fresh.querySelector("main"));
  tend();
  if (status() !== before) {
    announce(word("%s is now %s", document.title.split(" ")[0], status()));
  }
  tick();
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
  if (document.visibilityState !== "visible") {
    return;
  }
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
tend();
tick();
addEventListener("submit", (event) => {
  if (event.target.method === "post" && !event.defaultPrevented) {
    announce(word("Carrying it out ..."));
  } else if (lost) {
    document.getElementById("connection").textContent = word("Nothing was sent.") + " " + lost;
  }
});
setInterval(tick, 1000);
if (plan || live) {
  setInterval(() => tails().catch(() => {}), 1000);
  if (live && !at) {
    onMoved(refresh);
  }
  connect();
}
