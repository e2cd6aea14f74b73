/**
 * A report in a browser: it opens from a file, asks for nothing, draws states and shades tokens, and shows hostile texts as texts. Needs
 * Debian's chromium, or the one that CHROMIUM names.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Effect } from "effect";
import { type Browser, launch, type Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeReport } from "../../src/observe/watch/report/writeReport.ts";
import { hostile, pictures, writeGame } from "./made.ts";

const home = mkdtempSync(join(tmpdir(), "millrace-browser-"));
const folder = join(home, "made", "20270115-080000");
const output = join(home, "report.html");

let browser: Browser;
let page: Page;
const requestedUrls: string[] = [];
const problems: string[] = [];

beforeAll(async () => {
  writeGame(folder);
  await Effect.runPromise(writeReport({ folders: [folder], output }));
  browser = await launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  page = await browser.newPage();
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) requestedUrls.push(request.url());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.goto(pathToFileURL(output).href);
  await page.waitForSelector(".rp-group .tokens");
});

afterAll(async () => {
  await browser?.close();
  rmSync(home, { recursive: true, force: true });
});

const texts = (selector: string): Promise<readonly string[]> =>
  page.$$eval(selector, (found) => found.map((element) => element.textContent ?? ""));

const choose = async (shading: string): Promise<void> => {
  await page.select(".legend select", shading);
  await page.waitForSelector(`.tokens.shade-${shading}`);
};

describe("a report in a browser", () => {
  it("asks for nothing but itself, and has no problem", () => {
    expect(requestedUrls).toEqual([pathToFileURL(output).href]);
    expect(problems).toEqual([]);
  });

  it("begins with what came of the run", async () => {
    expect(await texts(".rp-head + .resultsentence")).toEqual([
      "made completed 12 steps in 11 s: no validation was played.",
    ]);
  });

  it("draws the states of a turn, before and after", async () => {
    const labels = await page.$$eval(".drawing", (found) => found.map((drawing) => drawing.getAttribute("aria-label")));
    expect(labels).toEqual(pictures);
    expect(await page.$$eval(".drawing .d-changed", (found) => found.length)).toBe(6);
  });

  it("shows hostile texts as texts", async () => {
    expect((await texts(".half-thought .text"))[0]).toContain(hostile);
    expect(await texts(".chip.unused")).toEqual([hostile]);
    expect(await page.title()).toBe("millrace: made/20270115-080000");
    expect(await page.$("img")).toBeNull();
  });

  it("shades tokens by what is chosen, and tells a token's numbers", async () => {
    await choose("advantage");
    const shares = await page.$$eval(".turn:first-of-type .tokens .token", (tokens) =>
      tokens.map((token) => [token.classList.contains("below"), getComputedStyle(token).getPropertyValue("--share")]),
    );
    expect(shares.map(([below, share]) => [below, Number(share)])).toEqual([
      [false, 1],
      [false, 0],
      [false, 0],
      [true, 1],
      [false, 0],
    ]);
    await page.focus(".tokens");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const [numbers] = await texts(".numbers:not(.hint)");
    expect(numbers).toMatch(
      /"<\/think>".*token 2 of 5.*id 11.*log-probability -1 .*entropy 0\.5.*advantage 0.*version 3/s,
    );
  });

  it("shows siblings side by side, and goes from one to the next with the arrow keys", async () => {
    expect(await texts(".tab b")).toEqual(["0", "1"]);
    await page.focus(".tab[aria-selected=true]");
    await page.keyboard.press("ArrowRight");
    expect(await texts(".tab[aria-selected=true] b")).toEqual(["1"]);
    await page.click(".tabs input");
    await page.waitForSelector(".siblings");
    expect(await texts(".sibling-name")).toEqual(["Episode 0", "Episode 1"]);
  });

  it("turns dark and light", async () => {
    const ground = () => page.$eval("body", (body) => getComputedStyle(body).backgroundColor);
    const before = await ground();
    await page.click(".rp-head button");
    await page.waitForFunction((was) => getComputedStyle(document.body).backgroundColor !== was, {}, before);
    expect(await ground()).not.toBe(before);
  });
});
