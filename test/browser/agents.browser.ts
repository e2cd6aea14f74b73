/** An agent's episode in a browser, from the real server: its calls as a tree, in light and dark, wide and narrow. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostileText } from "../build/agentEpisodes.ts";
import { type Served, served } from "../observe/watch/server/serving.ts";
import { writeAgent } from "./made.ts";
import { launch, textOf } from "./Visit.ts";

const home = mkdtempSync(join(tmpdir(), "millrace-browser-"));
const problems: string[] = [];
let server: Served;
let browser: Browser;

beforeAll(async () => {
  const folder = join(home, "made", "20270115-080000");
  writeAgent(folder);
  server = await served([folder]);
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(home, { recursive: true, force: true });
});

/** Opens the agent's first episode. */
const opened = async (theme: "light" | "dark", width: number): Promise<Page> => {
  const page = await browser.newPage();
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.setViewport({ width, height: 900 });
  await page.goto(`${server.url}/#/episodes/train/4/12/0`);
  await page.waitForSelector(".calls .tokens");
  return page;
};

const texts = (page: Page, selector: string): Promise<readonly string[]> =>
  page.$$eval(selector, (found) => found.map((element) => (element.textContent ?? "").replace(/\s+/g, " ").trim()));

/** Luminance of a color of the page, from 0 to 1. */
const luminance = (color: string): number => {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

const contrast = (a: string, b: string): number => {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].toSorted((one, other) => one - other);
  return (light + 0.05) / (dark + 0.05);
};

describe("an agent's episode", () => {
  it("is a tree of its calls: roots and branches named, discarded calls closed and counted", async () => {
    const page = await opened("light", 1280);
    expect(await texts(page, ".call-number")).toEqual([1, 3, 2, 4, 5, 6, 7].map((number) => `Call ${number}`));
    expect(await texts(page, ".call-heading")).toEqual([
      "Root 1 of 2: 3 samples of the same messages",
      "Branch 1 of 2 from call 2",
      "Branch 2 of 2 from call 2",
      "Root 2 of 2: begins anew, the agent shortened its history",
    ]);
    expect(await texts(page, ".call.discarded .call-number")).toEqual(["Call 1", "Call 3"]);
    expect(await page.$$(".call.discarded .tokens")).toHaveLength(0);
    expect(await textOf(page, ".episode > header")).toMatch(
      /5 calls, 29 tokens.*2 more calls not trained.*ended by the agent/,
    );
    await page.close();
  });

  it("has tool calls with their arguments, and each result behind the call that it answers", async () => {
    const page = await opened("light", 1280);
    expect(await texts(page, "[aria-label^='Call 2,'] summary .tool-call")).toEqual([
      'search(query: "distance of the moon", limit: 3)',
      'search("kilometres in a mile")',
    ]);
    const call = "[aria-label='Call 4, goes on from call 2']";
    expect(await texts(page, `${call} .call-title`)).toEqual([
      'search(query: "distance of the moon", limit: 3) →',
      'search("kilometres in a mile") →',
      "user",
    ]);
    expect((await texts(page, `${call} pre`))[0]).toContain(hostileText);
    expect(await page.$("img")).toBeNull();
    expect(await page.title()).not.toBe("broken");
    await page.close();
  });

  it("opens and closes its rows, and shades the tokens of replies", async () => {
    const page = await opened("light", 1280);
    await page.click(".call.discarded summary");
    await page.waitForSelector(".call.discarded .tokens");
    const [openAll, closeAll] = await page.$$(".calls-bar button");
    await openAll?.click();
    await page.waitForFunction(() => document.querySelectorAll(".calls .tokens").length === 7);
    expect(await textOf(page, ".call-problem")).toBe('the call "search(moon" is not closed');
    const shares = await page.$$eval(".calls .token", (all) => all.map((token) => token.getAttribute("style")));
    expect(new Set(shares).size).toBeGreaterThan(5);
    await page.focus("[aria-label^='Call 2,'] .tokens");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() =>
      document.querySelector(".numbers[aria-live]")?.textContent?.includes("log-probability"),
    );
    await closeAll?.click();
    await page.waitForFunction(() => document.querySelectorAll(".calls .tokens").length === 0);
    expect(await texts(page, ".call-said")).toContain("384 412 km.");
    await page.close();
  });

  it.each([
    ["light", 1280],
    ["dark", 1280],
    ["light", 400],
    ["dark", 400],
  ] as const)("is readable in %s at %d pixels", async (theme, width) => {
    const page = await opened(theme, width);
    const [openAll] = await page.$$(".calls-bar button");
    await openAll?.click();
    await page.waitForFunction(() => document.querySelectorAll(".calls .tokens").length === 7);
    const seen = await page.evaluate(() => {
      const styleOf = (selector: string) => getComputedStyle(document.querySelector(selector) as Element);
      const beyond = [...document.querySelectorAll(".calls *")].filter(
        (element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1,
      );
      return {
        across: document.documentElement.scrollWidth,
        beyond: beyond.map((element) => element.className),
        ground: styleOf("body").backgroundColor,
        panel: styleOf(".call:not(.discarded) details").backgroundColor,
        colors: {
          number: styleOf(".call:not(.discarded) .call-number").color,
          title: styleOf(".call-title").color,
          heading: styleOf(".call-heading").color,
        },
        discarded: styleOf(".call.discarded .call-number").color,
      };
    });
    expect([seen.across, seen.beyond]).toEqual([width, []]);
    for (const color of Object.values(seen.colors)) expect(contrast(color, seen.panel)).toBeGreaterThan(4.5);
    // Greyed, and still to be read.
    expect(seen.discarded).not.toBe(seen.colors.number);
    expect(contrast(seen.discarded, seen.ground)).toBeGreaterThan(4.5);
    await page.close();
  });

  it("gives the browser no cause to complain", () => {
    expect(problems).toEqual([]);
  });
});
