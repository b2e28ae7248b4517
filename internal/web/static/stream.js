// The server's events, once for a whole browser: a browser has only six connections for all windows of a server, and a
// stream keeps one of them. Of the visible windows that one listens which holds the lock; it tells the others. When it is
// hidden or closed, the lock goes to the next.
const channel = new BroadcastChannel("events");
const heard = new Map(); // by plan: the word of its newest state
let tell = () => {}; // called with the words, by plan, and with whether the connection is lost
let release = null; // lets go of the lock
let source = null; // only of the window that listens
let lost = false;

function take(said) {
  for (const [plan, state] of Object.entries(said.words || {})) {
    heard.set(plan, state);
  }
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
    channel.postMessage({ words: Object.fromEntries(heard), lost });
  }
};

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
    source = new EventSource("/events");
    source.addEventListener("moved", (event) => say({ words: JSON.parse(event.data), lost: false }));
    source.onopen = () => say({ lost: false });
    source.onerror = () => say({ lost: true });
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
