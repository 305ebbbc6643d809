// The HTML report in a real browser. `run.sh` makes the files and names their folder in REPORTS.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const FOLDER = process.env.REPORTS;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FILES = [
  "lost-update", "long-fork", "write-skew", "causality", "forced-order", "linearizability", "holds", "unknown",
  "hostile", "faults", "many", "several", "timestamps",
];
const ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

let browser;
before(async () => {
  assert.ok(FOLDER, "REPORTS names no folder: use run.sh");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ARGS });
});
after(() => browser && browser.close());

const address = (name, hash = "") => pathToFileURL(path.join(FOLDER, `${name}.html`)).href + hash;

/** Opens a report; whatever it complains about or asks for is a failure at the end. */
async function open(name, { hash = "", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address(name)) && !/^(data|blob):/.test(url)) complaints.push(`asked for ${url}`);
  });
  page.on("dialog", (dialog) => complaints.push(`dialog ${dialog.message()}`));
  await page.goto(address(name, hash));
  const close = async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  };
  return { page, close };
}

/** Clicks on an item of the list, and waits until it is shown. */
async function choose(page, at) {
  const item = page.locator(".item").nth(at);
  await item.click();
  const id = (await item.getAttribute("href")).slice(1);
  await page.locator("#witness .crumbs code").filter({ hasText: new RegExp(`^${id}$`) }).waitFor();
}

const hashOf = (page) => page.evaluate(() => location.hash);
const lit = (page, selector) => page.locator(`#witness ${selector}.lit`).count();

for (const name of FILES) {
  test(`${name}: opens without complaints or requests, and fits a narrow screen`, async () => {
    const { page, close } = await open(name);
    assert.ok(await page.locator(".headline").isVisible());
    const words = await page.evaluate(() => document.body.innerText);
    assert.doesNotMatch(words, /\[object|undefined|NaN/);
    for (const width of [1400, 800, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} pixels on a screen of ${width}`);
    }
    await close();
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`${name}: axe finds nothing serious in ${colorScheme}`, async () => {
      const { page, close } = await open(name, { colorScheme });
      await page.locator("details").evaluateAll((all) => all.slice(0, 60).forEach((one) => { one.open = true; }));
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      const told = serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html)]);
      assert.deepEqual(told, []);
      await close();
    });
  }
}

test("a witness is selected by its item, the keys and the address", async () => {
  const { page, close } = await open("lost-update");
  assert.equal(await hashOf(page), "#snapshot-isolation-1");
  await choose(page, 1);
  assert.equal(await hashOf(page), "#snapshot-isolation-2");
  assert.match(await page.locator("#witness .story").innerText(), /price/);
  await page.locator("body").press("k");
  assert.equal(await hashOf(page), "#snapshot-isolation-1");
  assert.match(await page.locator("#witness .story").innerText(), /stock/);
  await page.locator("body").press("j");
  assert.equal(await page.locator(".item[aria-current]").count(), 1);
  assert.match(await page.locator(".item[aria-current]").innerText(), /price/);
  await page.locator(".item[aria-current]").press("ArrowUp");
  assert.equal(await hashOf(page), "#snapshot-isolation-1");
  await close();
  const again = await open("lost-update", { hash: "#serializable-2" });
  assert.match(await again.page.locator("#witness .story").innerText(), /price/);
  assert.equal(await again.page.locator("#filter-level option:checked").innerText(), "serializable (2)");
  assert.equal(await hashOf(again.page), "#serializable-2", "a link stays what it was");
  await again.close();
});

test("what is selected comes into sight", async () => {
  const { page, close } = await open("lost-update", { viewport: { width: 390, height: 800 } });
  await choose(page, 1);
  const title = page.locator("#witness h2");
  await title.waitFor();
  const inSight = () => title.evaluate((node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return top >= 0 && bottom <= window.innerHeight;
  });
  assert.ok(await inSight());
  await choose(page, 0);
  await page.locator(".lead a").click();
  assert.ok(await inSight(), "also by the link of what is shown already");
  await choose(page, 1);
  await page.locator("#witness .actions").scrollIntoViewIfNeeded();
  await page.keyboard.press("k");
  assert.ok(await inSight());
  await close();
});

test("an edge, its sentence and its operations light up together", async () => {
  const { page, close } = await open("lost-update");
  const edge = page.locator('#witness svg [data-link="0"]').first();
  await edge.dispatchEvent("mouseover", { bubbles: true });
  assert.equal(await lit(page, ".steps .edge"), 1);
  assert.equal(await lit(page, ".timeline .op"), 2);
  assert.equal(await lit(page, ".raw .op"), 2);
  await page.locator("h1").hover();
  await page.locator("#witness .shown").dispatchEvent("mouseleave");
  assert.equal(await lit(page, ".steps .edge"), 0);

  await page.locator("#witness .steps .edge").first().focus();
  assert.ok(await lit(page, "svg [data-link]") > 0, "a focused sentence lights its edge");
  await page.locator("#witness .steps .edge").first().press("Enter");
  assert.equal(await page.locator("#witness .steps .edge").first().getAttribute("aria-pressed"), "true");
  await page.locator("#filter-text").focus();
  assert.equal(await lit(page, ".steps .edge"), 1, "what is pinned stays");
  await page.locator("h1").press("Escape");
  assert.equal(await lit(page, ".steps .edge"), 0);

  await page.locator("#witness .timeline .op.cited").first().hover();
  assert.ok(await lit(page, ".raw .op") >= 1);
  assert.ok(await lit(page, ".steps .edge") >= 1);
  await page.locator("#witness .timeline .name").first().click();
  assert.ok(await lit(page, ".box") >= 1);
  assert.ok(await page.locator("#witness .pinned").count() === 1);
  await close();
});

test("edges of the picture can be reached and pinned by keyboard", async () => {
  const { page, close } = await open("write-skew");
  const edge = page.locator('#witness svg [data-link][tabindex="0"]').first();
  await edge.focus();
  assert.equal(await lit(page, ".steps .edge"), 1);
  await edge.press("Enter");
  assert.equal(await edge.getAttribute("aria-pressed"), "true");
  await edge.press("Escape");
  assert.equal(await edge.getAttribute("aria-pressed"), "false");
  await close();
});

test("what is folded opens", async () => {
  const { page, close } = await open("lost-update");
  const fold = page.locator("#witness .fold").first();
  await fold.locator("summary").click();
  assert.ok(await fold.getByText("r(a,0)").isVisible());
  await close();
});

test("reasons open where nobody saw a dependency", async () => {
  const { page, close } = await open("forced-order");
  const because = page.locator("#witness .because").first();
  await because.locator("summary").click();
  assert.ok((await because.innerText()).length > 40);
  await close();
});

test("filters leave what they say", async () => {
  const { page, close } = await open("lost-update");
  await page.locator("#filter-key").fill("price");
  assert.equal(await page.locator(".item").count(), 1);
  assert.equal(await page.locator("#count").innerText(), "1 of 2 witnesses");
  assert.equal(await hashOf(page), "#snapshot-isolation-2");
  await page.locator("#filter-key").fill("nothing");
  assert.ok(await page.locator("#none").isVisible());
  await page.locator("#filter-key").fill("");
  await page.locator("#filter-session").fill("dave");
  assert.equal(await page.locator(".item").count(), 1);
  await page.locator("#filter-session").fill("");
  await page.locator("body").press("Escape");
  await page.locator("h1").press("/");
  await page.keyboard.type("stock lost");
  assert.equal(await page.locator(".item").count(), 1);
  await page.locator("#filter-text").fill("");
  await page.locator("#filter-level").selectOption({ label: "All levels (12)" });
  assert.equal(await page.locator(".item").count(), 12);
  await page.locator("#filter-anomaly").selectOption({ index: 1 });
  assert.equal(await page.locator(".item").count(), 12);
  await page.getByRole("button", { name: "serializable", exact: true }).click();
  assert.equal(await page.locator(".item").count(), 2);
  await close();
});

test("a bar of the chart filters, by mouse and by keyboard", async () => {
  const { page, close } = await open("lost-update");
  const bars = page.locator("#chart button.bar");
  assert.equal(await bars.count(), 2);
  await bars.nth(1).click();
  assert.equal(await page.locator(".item").count(), 1);
  assert.match(await page.locator("#range").innerText(), /transaction 7/);
  await page.locator("#range button").click();
  assert.equal(await page.locator(".item").count(), 2);
  await bars.nth(0).focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".item").count(), 1);
  await page.keyboard.press("ArrowRight");
  assert.ok(await bars.nth(1).evaluate((bar) => bar === document.activeElement));
  await page.locator("#chart details summary").click();
  assert.equal(await page.locator("#chart tbody tr").count(), 2);
  await close();
});

test("commands are copied, files are saved", async () => {
  const { page, close } = await open("lost-update", { permissions: ["clipboard-read", "clipboard-write"] });
  await page.locator(".again .copy").first().click();
  await page.getByText("Copied", { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "isolde check 'histories/lost-update.txt'");
  await page.locator("#witness .command .copy").click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^isolde explain .* snapshot-isolation-1$/);
  const save = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
  };
  const [svgName, svg] = await save("Save picture (.svg)");
  assert.equal(svgName, "snapshot-isolation-1.svg");
  const parsed = await page.evaluate((text) => {
    const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    return [root.tagName, root.textContent];
  }, svg);
  assert.equal(parsed[0], "svg");
  assert.match(parsed[1], /T2/);
  const [name, excerpt] = await save("Save excerpt (.txt)");
  assert.equal(name, "snapshot-isolation-1.txt");
  assert.match(excerpt, /w\(stock,101\)/);
  await close();
});

test("without a clipboard, copying falls back", async () => {
  const { page, close } = await open("lost-update");
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error("no")); });
  await page.locator(".again .copy").first().click();
  await page.locator(".again .copy", { hasText: /Copied|Select/ }).first().waitFor();
  await close();
});

test("keys are told, colours can be chosen", async () => {
  const { page, close } = await open("long-fork", { colorScheme: "dark" });
  await page.locator("h1").press("?");
  assert.ok(await page.locator("#help").isVisible());
  await page.keyboard.press("Escape");
  assert.ok(!(await page.locator("#help").isVisible()));
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.locator("#tools select").selectOption("light");
  assert.notEqual(await ground(), dark);
  await page.reload();
  assert.notEqual(await ground(), dark, "the choice is remembered");
  await page.locator("#tools select").selectOption("auto");
  assert.equal(await ground(), dark);
  await close();
});

test("hostile names are text", async () => {
  const { page, close } = await open("hostile");
  const count = await page.locator(".item").count();
  assert.ok(count >= 6, `${count}`);
  for (let at = 0; at < count; at += 1) {
    await choose(page, at);
    assert.ok((await page.locator("#witness .story").innerText()).length < 5000);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator("#app img, #app script, h1 img").count(), 0);
  assert.equal(await page.locator("h1").innerText(), '<img src=x onerror=alert(1)> {0} & "co"');
  await choose(page, 0);
  assert.match(await page.locator("#witness .raw").innerText(), /<script>window\.hacked=1<\/script>/);
  assert.match(await page.locator("#witness svg").first().textContent(), /<script>|<scr/);
  await choose(page, 2);
  assert.match(await page.locator("#witness .raw").innerText(), /\{0\} \{1\} \uE000\uF8FF/u);
  await page.locator("#filter-text").fill("</script>");
  assert.ok(await page.locator(".item").count() >= 1);
  await close();
});

test("ten thousand witnesses open and filter fast", async () => {
  const began = Date.now();
  const { page, close } = await open("many");
  await page.locator(".item").first().waitFor();
  const loaded = Date.now() - began;
  assert.ok(loaded < 5000, `${loaded} ms`);
  assert.equal(await page.locator("#count").innerText(), "10,000 witnesses");
  assert.equal(await page.locator(".item").count(), 100);
  await page.locator("#more").click();
  assert.equal(await page.locator(".item").count(), 200);
  const timed = (id, value) => page.evaluate(([id, value]) => {
    const input = document.getElementById(id);
    input.value = value;
    const start = performance.now();
    input.dispatchEvent(new Event("input"));
    return performance.now() - start;
  }, [id, value]);
  const key = await timed("filter-key", "k4321");
  assert.equal(await page.locator(".item").count(), 1);
  await timed("filter-key", "");
  const first = await timed("filter-text", "k99");
  const next = await timed("filter-text", "k999");
  assert.ok(await page.locator(".item").count() >= 1);
  await timed("filter-text", "");
  console.log(`load ${loaded} ms; filter by key ${key.toFixed(0)} ms, by text ${first.toFixed(0)} then ${next.toFixed(0)} ms`);
  assert.ok(key < 500 && next < 500, "filtering takes too long");
  await page.goto(address("many", "#snapshot-isolation-9876"));
  await page.reload();
  assert.equal(await page.locator(".item[aria-current]").count(), 1);
  assert.match(await page.locator("#witness .crumbs").innerText(), /snapshot-isolation-9876/);
  await close();
});

test("several histories are shown one at a time", async () => {
  const { page, close } = await open("several");
  assert.equal(await page.locator(".history").count(), 3);
  await page.locator(".history").nth(1).click();
  assert.match(await page.locator("#witness h2").innerText(), /WriteSkew/);
  assert.match(await hashOf(page), /@2$/);
  await page.locator(".history").nth(2).click();
  assert.ok(!(await page.locator("#board").isVisible()));
  assert.match(await page.locator(".headline").innerText(), /holds?/);
  await close();
});

test("paper shows the witnesses in full", async () => {
  const { page, close } = await open("lost-update", { colorScheme: "dark" });
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("#witness .story").isVisible());
  assert.ok(!(await page.locator("#tools").isVisible()));
  assert.ok(!(await page.locator("#side").isVisible()));
  await page.evaluate(() => {
    window.printed = [];
    window.addEventListener("beforeprint", () => {
      window.printed.push(...[...document.querySelectorAll("#printed .story")].map((story) => story.textContent));
    });
  });
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 10000);
  const printed = await page.evaluate(() => window.printed);
  assert.equal(printed.length, 2);
  assert.equal(await page.locator("#printed .story").count(), 0, "the page is as before");
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.setViewportSize({ width: 700, height: 1000 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 700, `${wide} pixels on paper of 700`);
  assert.ok(await page.locator("#printed .story").nth(1).isVisible());
  await close();
});

test("without scripts there is the text", async () => {
  const { page, close } = await open("write-skew", { javaScriptEnabled: false });
  const words = await page.locator("noscript pre").innerText();
  assert.match(words, /serializable +violated/);
  assert.match(words, /WriteSkew/);
  assert.ok(await page.locator("noscript pre").isVisible());
  await close();
});

test("a level that holds is told calmly", async () => {
  const { page, close } = await open("holds");
  assert.match(await page.locator(".headline").innerText(), /hold/);
  assert.ok(!(await page.locator("#board").isVisible()));
  assert.ok(await page.locator(".level-method[open]").getByText("Evidence").isVisible());
  await close();
});

test("what is unknown says why", async () => {
  const { page, close } = await open("unknown");
  assert.ok(await page.locator(".levels .state.unknown").count() > 0);
  assert.ok((await page.locator(".levels li", { has: page.locator(".state.unknown") }).first().innerText()).length > 40);
  assert.match(await page.locator(".warnings").innerText(), /cut off/);
  await close();
});

test("faults are drawn over the run", async () => {
  const { page, close } = await open("faults");
  const course = page.locator("#course svg");
  assert.ok(await course.isVisible());
  assert.match(await course.textContent(), /4 x kill n1/);
  assert.match(await course.textContent(), /300 x drop/);
  assert.ok(await course.locator(".fault").count() >= 4);
  await close();
  const other = await open("holds");
  assert.ok(await other.page.locator("#course").isHidden());
  await other.close();
});
