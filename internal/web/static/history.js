// The slider through time.
import { onMoved, plan, word } from "/static/page.js";

const slider = document.getElementById("slider");
const shown = document.getElementById("slider-at");
const panel = document.getElementById("moment");

let asked = 0;
async function show() {
  const n = Number(slider.value);
  shown.textContent = String(n);
  slider.setAttribute("aria-valuetext", word("Event %d of %d", n, slider.max));
  const mine = ++asked;
  const reply = await fetch(slider.dataset.moment + "?n=" + n);
  if (!reply.ok || mine !== asked) {
    return; // a newer question is under way
  }
  draw(await reply.json());
}

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) {
    e.textContent = text;
  }
  if (className) {
    e.className = className;
  }
  return e;
}

function draw(moment) {
  const head = element("p");
  const link = element("a", word("Open"));
  link.href = plan + "?at=" + moment.commit;
  head.append(element("strong", moment.subject), ` ${moment.author}, ${new Date(moment.time).toLocaleString()} `, link);
  const counts = element("ul", undefined, "counts");
  for (const { class: name, word: text, n } of moment.classes) {
    if (n > 0) {
      const item = element("li");
      const status = element("span", undefined, "status " + name);
      status.append(element("span", undefined, "mark"), `${n} ${word(text)}`);
      item.append(status);
      counts.append(item);
    }
  }
  const list = element("ul", undefined, "moment-tasks");
  list.tabIndex = 0;
  for (const [id, task] of Object.entries(moment.tasks)) {
    const item = element("li", undefined, "line " + task.c);
    item.append(element("span", undefined, "mark"), id + " ", element("span", task.s, "st"));
    list.append(item);
  }
  panel.replaceChildren(head, counts, list);
}

let timer = 0;
slider?.addEventListener("input", () => {
  shown.textContent = slider.value;
  clearTimeout(timer);
  timer = setTimeout(() => show().catch(() => {}), 60);
});
onMoved(() => { // the slider has its new end; who has moved it stays where they are
  shown.textContent = slider.value;
});
