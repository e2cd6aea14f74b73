/** The page's episodes in a browser, from the real server: found, opened, drawn. Needs chromium, Debian's or the one that CHROMIUM names. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, launch, type Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Served, served } from "../observe/watch/server/serving.ts";
import { hostile, pictures, writeGame } from "./made.ts";

const home = mkdtempSync(join(tmpdir(), "millrace-browser-"));
const problems: string[] = [];
let server: Served;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  const folder = join(home, "made", "20270115-080000");
  writeGame(folder);
  server = await served([folder]);
  browser = await launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  page = await browser.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.goto(`${server.url}/#/episodes`);
  await page.waitForSelector(".list tbody tr");
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(home, { recursive: true, force: true });
});

const texts = (selector: string): Promise<readonly string[]> =>
  page.$$eval(selector, (found) => found.map((element) => element.textContent ?? ""));

describe("the page's episodes", () => {
  it("are listed newest first, and found by what they are", async () => {
    expect(await texts(".list tbody td:nth-child(4)")).toEqual(["12.1", "12.0"]);
    await page.select(".search label:nth-of-type(6) select", "zero");
    await page.waitForFunction(() => document.querySelector(".pager span")?.textContent === "no episodes");
    expect(new URL(page.url()).hash).toContain("verdict%3Dzero");
    await page.click(".search button");
    await page.waitForSelector(".list tbody tr");
  });

  it("open with the keyboard", async () => {
    await page.focus(".list tbody a");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".group .tokens");
    expect(new URL(page.url()).hash).toMatch(/^#\/episodes\/train\/4\/12\/0/);
    expect(await texts(".tab[aria-selected=true] b")).toEqual(["0"]);
  });

  it("are drawn, with hostile texts as texts", async () => {
    const labels = await page.$$eval(".drawing", (found) => found.map((drawing) => drawing.getAttribute("aria-label")));
    expect(labels).toEqual(pictures);
    expect((await texts(".half-thought .text"))[0]).toContain(hostile);
    expect(await page.$("img")).toBeNull();
    expect(await page.title()).not.toBe("broken");
    expect(await texts(".verdict")).toEqual(["kept"]);
  });

  it("show what is recorded when it is asked for", async () => {
    await page.click(".raw > details > summary");
    await page.waitForSelector(".raw .message");
    expect(await texts(".raw .message b")).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "state after the last turn",
    ]);
    await page.click(".raw details details summary");
    await page.waitForSelector(".arrays tbody tr");
    expect((await texts(".arrays tbody tr")).length).toBe(5);
  });

  it("give the browser no cause to complain", () => {
    expect(problems).toEqual([]);
  });
});
