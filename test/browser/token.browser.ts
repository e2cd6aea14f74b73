/** A server beyond loopback: the page asks for the token before anything, then shows the run, its stream and its downloads. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Served, served, token } from "../observe/watch/server/serving.ts";
import { writeRun } from "../observe/watch/syntheticRun.ts";
import { launch, sees } from "./Visit.ts";

const home = mkdtempSync(join(tmpdir(), "millrace-browser-"));
let server: Served;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  const folder = join(home, "made", "20270115-080000");
  writeRun(folder, { steps: 12 });
  server = await served([folder], { isPublic: true });
  browser = await launch();
  page = await browser.newPage();
  await page.goto(`${server.url}/#/line`);
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
  rmSync(home, { recursive: true, force: true });
});

it("asks for the token, again where it is wrong", async () => {
  await sees(page, "h1", /asks for its token/);
  await page.type("input[type=password]", "wrong");
  await page.keyboard.press("Enter");
  await sees(page, ".alone", /does not know this token/);
  await page.type("input[type=password]", token);
  await page.keyboard.press("Enter");
  await sees(page, ".weights h3", /weights/);
});

it("listens and downloads with it", async () => {
  const kept = await page.evaluate(() => [sessionStorage.getItem("millrace.token"), location.hash.includes("token")]);
  expect(kept).toEqual([token, false]);
  await sees(page, ".banner", /ended/);
  await page.keyboard.press("3");
  await page.waitForSelector(".chartcard canvas");
  const csv = await page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        URL.createObjectURL = (blob) => {
          if (blob instanceof Blob) void blob.text().then(resolve);
          return "";
        };
        HTMLAnchorElement.prototype.click = () => undefined;
        document.querySelector<HTMLElement>(".actions [data-csv]")?.click();
      }),
  );
  expect(csv.trim().split("\n")).toHaveLength(13);
});
