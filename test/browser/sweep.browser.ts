/**
 * The page of a sweep in a browser: it opens from a file, asks for nothing, shows the table and draws the points that are chosen in it, and shows
 * hostile texts as texts. Needs Debian's chromium, or the one that CHROMIUM names.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, launch, type Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SweepPoint } from "../../src/observe/watch/page/sweep/SweepData.ts";
import { sweepDocumentOf } from "../../src/observe/watch/report/document.ts";
import { hostile } from "./made.ts";

const home = mkdtempSync(join(tmpdir(), "millrace-browser-"));
const output = join(home, "sweep.html");

const point = (name: string, offset: number): SweepPoint => ({
  name,
  runs: 2,
  cells: [{ mean: offset, low: offset - 0.1, high: offset + 0.1 }],
  curves: {
    steps: [0, 1, 2],
    times: [0, 0, 0],
    series: [
      {
        name: "train/success",
        mean: [0, offset / 2, offset],
        min: [0, 0, offset - 0.1],
        max: [0.1, offset, offset + 0.1],
      },
    ],
  },
});
const nothing: SweepPoint = {
  name: hostile,
  runs: 0,
  cells: [null],
  curves: { steps: [], times: [], series: [] },
};

let browser: Browser;
let page: Page;
const requestedUrls: string[] = [];
const problems: string[] = [];

beforeAll(async () => {
  const html = sweepDocumentOf({
    written: 0,
    version: "1",
    name: "made",
    runs: 2,
    file: "config: x\n",
    interval: "t",
    heads: [{ metric: "train/success", of: "last" }],
    metrics: [{ name: "train/success", section: "", unit: "share", kind: "share", meaning: "" }],
    points: [point("value=0.9", 0.5), point("value=1", 0.7), nothing],
  });
  writeFileSync(output, html);
  browser = await launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  page = await browser.newPage();
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) requestedUrls.push(request.url());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(pathToFileURL(output).href);
  await page.waitForSelector(".chartcard canvas");
});

afterAll(async () => {
  await browser?.close();
  rmSync(home, { recursive: true, force: true });
});

const cells = (row: number): Promise<readonly string[]> =>
  page.$$eval(`tbody tr:nth-child(${row}) td`, (found) => found.map((cell) => cell.textContent ?? ""));

describe("the page of a sweep in a browser", () => {
  it("asks for nothing but itself, and has no problem", () => {
    expect(requestedUrls).toEqual([pathToFileURL(output).href]);
    expect(problems).toEqual([]);
  });

  it("has a row for each point, hostile names as texts", async () => {
    expect((await cells(1)).slice(1)).toEqual(["value=0.9", "2/2", "0.5 [0.4, 0.6]"]);
    expect((await cells(3)).slice(1)).toEqual([hostile, "0/2", ""]);
  });

  it("draws the points that are chosen", async () => {
    const drawn = () => page.$$eval(".readout b", (found) => found.length);
    expect(await drawn()).toBe(2);
    await page.click("tbody tr:nth-child(1) input");
    await page.waitForFunction(() => document.querySelectorAll(".readout b").length === 1);
    expect(await drawn()).toBe(1);
  });
});
