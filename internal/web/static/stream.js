// The server's events, once for a whole browser: a browser has only six connections for all windows of a server, and a
// stream keeps one of them. Of the visible windows that one listens which holds the lock; it tells the others. When it is
// hidden or closed, the lock goes to the next.
const channel = new BroadcastChannel("events");
let heard; // the word of the newest state of all plans; nothing yet at first
let tell = () => {}; // called with the word, and with how the connection is lost: "" if it is not
let release = null; // lets go of the lock
let source = null; // only of the window that listens
let lost = ""; // "away": nobody answers; "refused": a server that does not know this browser

function take(said) {
  heard = said.word ?? heard;
  lost = said.lost;
  if (document.visibilityState === "visible") {
    tell(heard, lost);
  }
}

function say(said) {
  take(said);
  channel.postMessage(said);
}

channel.onmessage = ({ data }) => {
  if (!data.asks) {
    take(data);
  } else if (source) {
    channel.postMessage({ word: heard, lost });
  }
};

// A server that was stopped, or has too much to do, closes nothing; but it is silent.
const patience = 40_000; // milliseconds; it says every 15 s that it is there
let spoke = 0; // when it did last
setInterval(() => {
  if (source && !lost && Date.now() - spoke > patience) {
    say({ lost: "away" });
  }
}, 5000);

// hear opens the stream. The browser itself tries again where nobody answers, but not where it is refused: then somebody
// has started the server anew, and another window of this browser may open the address that it has printed.
function hear() {
  spoke = Date.now();
  const mine = source = new EventSource("/events");
  const alive = (event) => {
    spoke = Date.now();
    say({ word: event.type === "moved" ? event.data : undefined, lost: "" });
  };
  for (const name of ["open", "here", "moved"]) {
    source.addEventListener(name, alive);
  }
  source.onerror = async () => {
    const closed = mine.readyState === EventSource.CLOSED;
    const status = closed ? await fetch("/plans", { method: "HEAD" }).then((reply) => reply.status, () => 0) : 0;
    if (source === mine) {
      say({ lost: status === 403 ? "refused" : "away" });
      if (closed) {
        setTimeout(() => source === mine && hear(), 3000);
      }
    }
  };
}

function listen() {
  if (document.visibilityState !== "visible") {
    release?.();
    return;
  }
  if (release) {
    return;
  }
  const given = new AbortController();
  let end = () => {};
  release = () => {
    release = null;
    given.abort();
    end();
  };
  navigator.locks.request("events", { signal: given.signal }, () => new Promise((done) => {
    end = () => {
      source?.close();
      source = null;
      done();
    };
    hear();
  })).catch(() => {}); // the window was hidden before its turn came
  channel.postMessage({ asks: true }); // whoever listens
}

// follow calls f with what is heard, while this window is visible.
export function follow(f) {
  tell = f;
  listen();
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => release?.());
}
