// Copies the layout library from node_modules to this directory, and records what was copied.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const from = join(here, "node_modules", "@dagrejs", "dagre");

// The source map is not shipped, so the script must not point at it.
const script = readFileSync(join(from, "dist", "dagre.min.js"), "utf8").replace(/^\/\/# sourceMappingURL=.*\n?/m, "");
const files = {
  "dagre.min.js": script,
  "dagre.min.js.LEGAL.txt": readFileSync(join(from, "dist", "dagre.min.js.LEGAL.txt"), "utf8"),
  LICENSE: readFileSync(join(from, "LICENSE"), "utf8"),
};
let sums = "";
for (const [name, text] of Object.entries(files)) {
  writeFileSync(join(here, name), text);
  sums += `${createHash("sha256").update(text).digest("hex")}  ${name}\n`;
}
writeFileSync(join(here, "SHA256SUMS"), sums);
