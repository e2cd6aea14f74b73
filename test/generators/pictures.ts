/** Takes pictures of the page into docs/pictures, with Debian's chromium or the one that CHROMIUM names; pngquant makes them small where it is installed. */
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Effect, Exit, Scope } from "effect";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import type { RunCard, Timeline } from "../../src/observe/watch/Api.ts";
import { format, home, type Route } from "../../src/observe/watch/page/route.ts";
import { serveWatch } from "../../src/observe/watch/server/WatchServer.ts";

const pictures = fileURLToPath(new URL("../../docs/pictures", import.meta.url));

export interface Shot {
  /** The file's name, without `.png`. */
  readonly name: string;
  readonly route: Partial<Route>;
  readonly theme?: "light" | "dark";
  /** A selector that matches as soon as the view is drawn. */
  readonly ready: string;
  readonly before?: (page: Page) => Promise<void>;
  /** The window's size, in pixels. */
  readonly size?: readonly [width: number, height: number];
  /** The metrics that Curves draws; else its own choice. */
  readonly metrics?: readonly string[];
  /** The element that the picture shows; else the window. */
  readonly only?: string;
  /** Rules over those of the page, for what the picture leaves out. */
  readonly style?: string;
}

/** The page's server with runs on it. */
export class Site {
  readonly url: string;
  constructor(url: string) {
    this.url = url;
  }

  /** An answer of the server; the path begins behind `/api/runs`. */
  async ask<A>(path = ""): Promise<A> {
    return (await (await fetch(`${this.url}/api/runs${path}`)).json()) as A;
  }

  /** In the order of the folders. */
  runs(): Promise<readonly RunCard[]> {
    return this.ask();
  }

  timeline(run: string): Promise<Timeline> {
    return this.ask(`/${encodeURIComponent(run)}/timeline`);
  }
}

/** The moment at a share of the run's steps. */
export const momentAt = ({ steps }: Timeline, share: number): number | null =>
  steps[Math.floor(share * (steps.length - 1))]?.at ?? null;

const small = (file: string): void => {
  spawnSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--quality", "70-95", "--output", file, file]);
};

/** A script that runs in the page before it measures where its parts lie. */
const prelude = ({ metrics, style = "" }: Shot): string => `
  localStorage.setItem("millrace.curves.metrics", ${JSON.stringify(JSON.stringify(metrics ?? null))});
  const style = Object.assign(document.createElement("style"), { textContent: ${JSON.stringify(style)} });
  addEventListener("DOMContentLoaded", () => document.head.append(style));`;

const opened = async (browser: Browser, url: string, shot: Shot): Promise<Page> => {
  const { before, ready, route, size = [1280, 800], theme = "light" } = shot;
  const page = await browser.newPage();
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: theme },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await page.setViewport({ width: size[0], height: size[1] });
  await page.setBypassCSP(true);
  await page.evaluateOnNewDocument(prelude(shot));
  await page.goto(`${url}/${format({ ...home, ...route })}`);
  await page.waitForSelector(ready);
  await before?.(page);
  await page.waitForNetworkIdle({ idleTime: 500, concurrency: 1 });
  return page;
};

const take = async (browser: Browser, url: string, shot: Shot): Promise<void> => {
  const page = await opened(browser, url, shot);
  const file = join(pictures, `${shot.name}.png`) as `${string}.png`;
  const element = shot.only === undefined ? page : await page.waitForSelector(shot.only);
  await element?.screenshot({ path: file });
  small(file);
  console.log(`${file} ${Math.ceil(statSync(file).size / 1000)} kB`);
  await page.close();
};

/** Serves the runs of the folders, and takes what `shotsOf` says of them. */
export const takePictures = async (
  folders: readonly string[],
  shotsOf: (site: Site) => Promise<readonly Shot[]>,
): Promise<void> => {
  mkdirSync(pictures, { recursive: true });
  const scope = Scope.makeUnsafe();
  const runs = folders.map((folder) => resolve(folder));
  const { url } = await Effect.runPromise(
    Scope.provide(serveWatch({ runs, host: "127.0.0.1", port: 0, token: "-".repeat(32), isPublic: false }), scope),
  );
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  for (const shot of await shotsOf(new Site(url))) await take(browser, url, shot);
  await browser.close();
  await Effect.runPromise(Scope.close(scope, Exit.void));
};
