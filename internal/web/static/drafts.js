// What somebody has begun to write in a form stays theirs: when the form is refused, when they look at another page of this
// window meanwhile, and when there is a newer version of what they write about. Files can't be kept: a browser lets no
// script choose them.
import { word } from "/static/words.js";

// nameOf is the same for a form as long as it does the same for the same task.
function nameOf(form) {
  const about = [...form.querySelectorAll("input[type=hidden]:not([name=page], [name=version])")].map((e) => e.value);
  return ["draft", form.getAttribute("action"), ...about].join(" ");
}

const versionOf = (form) => form.elements.version?.value || "";
const isChoice = (e) => e.type === "radio" || e.type === "checkbox";
const fields = (form) => [...form.elements].filter((e) => e.name && !["hidden", "file", "submit"].includes(e.type));

function keep(form) {
  const values = fields(form).filter((e) => !isChoice(e) || e.checked).map((e) => [e.name, e.value]);
  sessionStorage.setItem(nameOf(form), JSON.stringify({ version: versionOf(form), values }));
}

// fill puts back what was written. A choice about one version is none about another.
function fill(form, { version, values }) {
  const same = version === versionOf(form);
  for (const [name, value] of values) {
    for (const e of fields(form).filter((e) => e.name === name)) {
      if (!isChoice(e)) {
        e.value = value;
      } else if (same && e.value === value) {
        e.checked = true;
      }
    }
  }
  if (!same && values.some(([, value]) => value)) {
    outdated(form, version);
  }
}

function outdated(form, version) {
  for (const e of fields(form).filter(isChoice)) {
    e.checked = false;
  }
  let note = form.querySelector(".outdated");
  if (!note) {
    note = document.createElement("p");
    note.className = "warn outdated";
    note.setAttribute("role", "status");
    note.dataset.keep = "";
    form.prepend(note);
  }
  note.textContent = word("%s came while you wrote about %s: what you wrote is kept, what you chose is not. Look again.",
    versionOf(form), version);
}

const known = new WeakMap(); // by form: the version that it was about when last seen
const names = new Set(); // of the forms that this page has had
const due = new WeakMap(); // by what unfolds a form: whether that was due when last seen

// tend looks after the page's forms, after each change of the page.
export function tend() {
  const here = new Set();
  for (const form of document.querySelectorAll("main form[method=post]")) {
    here.add(nameOf(form));
    names.add(nameOf(form));
    const before = known.get(form);
    known.set(form, versionOf(form));
    const draft = draftOf(form);
    if (draft && before === undefined) {
      fill(form, JSON.parse(draft));
    } else if (draft && before !== versionOf(form)) {
      outdated(form, before);
      keep(form);
    }
  }
  for (const box of document.querySelectorAll("main details.do")) {
    const now = "due" in box.dataset;
    const before = due.get(box);
    due.set(box, now);
    if (before !== now) { // what became due opens; what no longer is closes, unless somebody writes there
      box.open = now || box.contains(document.activeElement) || [...box.querySelectorAll("form")].some(draftOf);
    }
  }
  missed([...names].some((name) => !here.has(name) && sessionStorage.getItem(name)));
}

const draftOf = (form) => sessionStorage.getItem(nameOf(form));

// missed says where what was written is while the page has no form for it, as long as somebody else works on the task.
function missed(is) {
  let note = document.getElementById("missed");
  if (is && !note) {
    note = document.createElement("p");
    note.id = "missed";
    note.className = "warn";
    note.setAttribute("role", "status");
    note.dataset.keep = "";
    document.getElementById("announce").after(note);
    note.textContent = word("A form in which you wrote is not offered now: somebody was faster, or works on it. It comes back with what you wrote.");
  }
  if (note) {
    note.hidden = !is;
  }
}

const ours = (event) => event.target.closest("main form[method=post]");
const sent = new WeakSet();

addEventListener("input", (event) => {
  const form = ours(event);
  if (form) {
    keep(form);
  }
});

addEventListener("submit", (event) => {
  const form = ours(event);
  if (!form) {
    return;
  }
  if (sent.has(form) || !document.getElementById("connection").hidden) { // else the browser would leave for an error
    event.preventDefault();
    return;
  }
  sent.add(form);
  sessionStorage.setItem("sent", nameOf(form));
  setTimeout(() => { // after the form's data have been taken: a disabled button would not be part of it
    for (const button of form.querySelectorAll("button")) {
      button.disabled = true;
    }
  });
});

// What was carried out is no draft any more; what was refused is.
if (document.querySelector("#said.good")) {
  sessionStorage.removeItem(sessionStorage.getItem("sent") || "");
}
if (document.getElementById("said")) {
  sessionStorage.removeItem("sent");
}
