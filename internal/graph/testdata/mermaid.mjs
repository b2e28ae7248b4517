// Reads a diagram on standard input with the real mermaid, and prints what it has understood: the text of each node as a
// browser would show it, and the number of edges.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";
const dom = new JSDOM("<!doctype html><body></body>");
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ startOnLoad: false });
const text = readFileSync(0, "utf8");
await mermaid.parse(text);
const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
const nodes = {};
for (const [id, v] of db.getVertices()) {
  // Mermaid keeps entities in a form of its own until it draws: see encodeEntities and decodeEntities in its source.
  const html = v.text.replaceAll("ﬂ°°", "&#").replaceAll("ﬂ°", "&").replaceAll("¶ß", ";").replaceAll("<br>", "\n");
  const box = document.createElement("div");
  box.innerHTML = html;
  if (box.children.length > 0) throw new Error(`${id} has an element: ${html}`);
  nodes[id] = box.textContent;
}
console.log(JSON.stringify({ nodes, edges: db.getEdges().length }));
