// Bundles the pages' sources into the package: `node build.mjs` writes them, `node build.mjs --check`
// only says which files are not what the sources make.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const top = fileURLToPath(new URL("..", import.meta.url));

// Source → asset. A page whose sources are not there yet is left out.
const ASSETS = {
  "src/explorer/main.ts": "src/tropicell/explorer/assets/explorer.js",
  "src/explorer/page.css": "src/tropicell/explorer/assets/explorer.css",
  "src/play/main.ts": "src/tropicell/playground/assets/play.js",
  "src/play/page.css": "src/tropicell/playground/assets/play.css",
};

async function bundle(source) {
  const { outputFiles } = await build({
    entryPoints: [here + source],
    absWorkingDir: here,
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    minify: true,
    lineLimit: 200,
    legalComments: "none",
    logLevel: "warning",
  });
  return outputFiles[0].text;
}

const check = process.argv.includes("--check");
const stale = [];
for (const [source, asset] of Object.entries(ASSETS)) {
  if (!existsSync(here + source)) continue;
  const text = await bundle(source);
  const path = top + asset;
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  stale.push(asset);
  if (check) continue;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  console.log(`${relative(top, path)}: ${text.length.toLocaleString("en")} characters`);
}
if (check && stale.length) {
  console.error(`not what the sources make: ${stale.join(", ")}; run make web`);
  process.exitCode = 1;
}
