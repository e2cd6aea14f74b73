/**
 * A visit to the page: a headless Chromium, a server with runs made of formulas, and everything that should not happen, kept: messages on the
 * console, errors, failed requests and requests to elsewhere.
 */
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { type MockServer, serve } from "../observe/watch/page/mockServer.ts";

export interface Visit {
  readonly page: Page;
  readonly server: MockServer;
  /** Errors and warnings of the page and its console, and requests to other servers. */
  readonly troubles: readonly string[];
  readonly close: () => Promise<void>;
}

export const launch = (): Promise<Browser> =>
  puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Tests run as root in containers, where Chromium's own sandbox does not start.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });

export interface VisitOptions {
  readonly path?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

export const visit = async (browser: Browser, options: VisitOptions = {}): Promise<Visit> => {
  const { height = 800, path = "", theme = "light", width = 1280 } = options;
  const server = await serve();
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warn") troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !url.startsWith("data:") && !url.startsWith("blob:"))
      troubles.push(`asked ${url}`);
  });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: theme },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await page.setViewport({ width, height });
  await page.goto(`${server.url}${path}`);
  await page.waitForSelector(".app main > *");
  const close = async (): Promise<void> => {
    await context.close();
    await server.close();
  };
  return { page, server, troubles, close };
};

/** The text of the first element that fits, with its white space as one blank each. */
export const textOf = (page: Page, selector: string): Promise<string> =>
  page.$eval(selector, (element) => (element.textContent ?? "").replace(/\s+/g, " ").trim());

/** Waits until an element's text fits. */
export const sees = async (page: Page, selector: string, pattern: RegExp): Promise<void> => {
  await page.waitForFunction(
    (selector, source, flags) =>
      [...document.querySelectorAll(selector)].some((element) =>
        new RegExp(source, flags).test((element.textContent ?? "").replace(/\s+/g, " ")),
      ),
    { timeout: 8000 },
    selector,
    pattern.source,
    pattern.flags,
  );
};
