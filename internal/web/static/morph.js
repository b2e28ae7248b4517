// morph makes the content of one element like that of another, and leaves alone what is the same: so the focus, typed text,
// what is open and how far it is scrolled stay. An element with an id, a data-key or a data-task is the one that had it
// before. What a script makes of an element with data-keep, and an id, is the script's.
export function morph(old, now) {
  const wanted = new Set([...now.children].map(key));
  const known = new Map();
  for (const child of old.children) {
    if (key(child)) {
      known.set(key(child), child);
    }
  }
  let next = old.firstChild; // the first that is not settled
  for (const want of [...now.childNodes]) {
    while (next && kept(next)) {
      next = next.nextSibling;
    }
    const name = key(want);
    let have = next && !key(next) ? next : null;
    if (name) {
      have = known.get(name) || null;
      known.delete(name);
      if (have && kept(have)) {
        continue;
      }
      while (have && next && next !== have && !(key(next) && wanted.has(key(next))) && !kept(next)) {
        next = drop(next);
      }
    }
    if (!have || have.nodeName !== want.nodeName) {
      if (have && !name && have.nodeType === want.nodeType) {
        next = drop(have);
      }
      old.insertBefore(document.adoptNode(want), next);
      continue;
    }
    if (have === next) {
      next = next.nextSibling;
    } else {
      old.insertBefore(have, next);
    }
    settle(have, want);
  }
  while (next) {
    next = kept(next) ? next.nextSibling : drop(next);
  }
}

const key = (node) => node.id || node.dataset?.key || node.dataset?.task || "";
const kept = (node) => node.dataset?.keep !== undefined;

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function settle(have, want) {
  if (kept(have) || have.isEqualNode(want)) {
    return;
  }
  if (have.nodeType !== Node.ELEMENT_NODE) {
    have.data = want.data;
    return;
  }
  const own = new Set(["disabled", "hidden", "aria-expanded", "aria-pressed", have.localName === "details" ? "open" : ""]); // by the person, or a script
  for (const { name, value } of [...want.attributes]) {
    if (!own.has(name) && have.getAttribute(name) !== value) {
      have.setAttribute(name, value);
    }
  }
  for (const { name } of [...have.attributes]) {
    if (!own.has(name) && !want.hasAttribute(name)) {
      have.removeAttribute(name);
    }
  }
  if (have.localName === "textarea") {
    have.defaultValue = want.defaultValue; // which is not what somebody has typed
  } else {
    morph(have, want);
  }
}
