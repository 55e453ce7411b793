// Draws the icons of the installed app from public/icon.svg: `node scripts/icons.mjs`.
// Run it when the icon changes. CHROMIUM names the browser.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const svg = readFileSync(new URL("../public/icon.svg", import.meta.url), "utf8");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
// A maskable icon may be cut to a circle: what matters is in the middle.
for (const [name, size, part, ground] of [["icon-192.png", 192, 0.88, ""], ["icon-512.png", 512, 0.88, ""], ["icon-maskable.png", 512, 0.6, "#f7f8fa"], ["icon-apple.png", 180, 0.7, "#f7f8fa"]]) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  const drawn = Math.round(size * part);
  await page.setContent(`<style>body{margin:0;display:grid;place-items:center;height:100vh;background:${ground || "transparent"}}svg{width:${drawn}px;height:${drawn}px}</style>${svg}`);
  await page.screenshot({ path: new URL(`../public/${name}`, import.meta.url).pathname, omitBackground: !ground });
  await page.close();
}
await browser.close();
