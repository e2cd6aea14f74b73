/**
 * Takes the pictures of docs/pictures: `node test/generators/screenshots.ts RUN [OTHER]`, where both are folders of runs. A run that goes on is
 * shown live, one that is over in its middle. Needs Debian's chromium (or the one that CHROMIUM names); makes pictures small with pngquant
 * where that is installed.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Effect, Exit, Scope } from "effect";
import puppeteer, { type Page } from "puppeteer-core";
import type { EpisodePage, RunCard, Timeline } from "../../src/watch/Api.ts";
import { format, home, type Route } from "../../src/watch/page/route.ts";
import { serve } from "../../src/watch/server/WatchServer.ts";

const pictures = fileURLToPath(new URL("../../docs/pictures", import.meta.url));

interface Shot {
  readonly name: string;
  readonly route: Partial<Route>;
  readonly theme?: "light" | "dark";
  /** What is there when the view is drawn. */
  readonly ready: string;
  readonly before?: (page: Page) => Promise<void>;
}

const json = async <A>(url: string): Promise<A> => (await (await fetch(url)).json()) as A;

/** The moment at a share of the run's steps. */
const momentAt = ({ steps }: Timeline, share: number): number | null =>
  steps[Math.floor(share * (steps.length - 1))]?.at ?? null;

/** The group to show: kept, with episodes that succeeded and others that did not, and as many turns as any. */
const chosenGroup = ({ episodes }: EpisodePage): readonly string[] => {
  const groups = [...Map.groupBy(episodes, ({ group, step }) => `${step}/${group}`)];
  const turns = (of: EpisodePage["episodes"]): number =>
    of.some(({ success }) => success) && of.some(({ success }) => !success)
      ? Math.max(...of.map(({ turns }) => turns))
      : 0;
  const [best] = groups.toSorted(([, a], [, b]) => turns(b) - turns(a));
  if (best === undefined) return [];
  const [key, of] = best;
  const member = of.toSorted((a, b) => Number(b.success) - Number(a.success) || b.turns - a.turns)[0]?.member ?? 0;
  return ["train", ...key.split("/"), String(member)];
};

const shotsOf = async (url: string): Promise<readonly Shot[]> => {
  const [run, other] = await json<readonly RunCard[]>(`${url}/api/runs`);
  if (run === undefined) throw new Error("no run");
  const of = `${url}/api/runs/${encodeURIComponent(run.id)}`;
  const timeline = await json<Timeline>(`${of}/timeline`);
  const kept = await json<EpisodePage>(`${of}/episodes?split=train&verdict=kept&limit=1000`);
  const id = run.id;
  const newest = run.state === "running" ? null : momentAt(timeline, 0.5);
  return [
    { name: "line", route: { run: id, at: newest }, ready: ".bottleneck" },
    { name: "line-dark", route: { run: id, at: newest }, ready: ".bottleneck", theme: "dark" },
    {
      name: "episode",
      route: { run: id, view: "episodes", parts: chosenGroup(kept) },
      ready: ".group .tokens",
      before: async (page) => void (await page.select(".legend select", "advantage")),
    },
    { name: "filter", route: { run: id, view: "filter" }, ready: ".windowpanel tbody tr" },
    {
      name: "time-travel",
      route: { run: id, view: "curves", at: momentAt(timeline, 0.4) },
      ready: ".chartcard canvas",
    },
    ...(other === undefined
      ? []
      : [
          {
            name: "two-runs",
            route: { run: id, view: "curves" as const, over: [other.id] },
            ready: ".runchip + .runchip",
          },
        ]),
  ];
};

const small = (file: string): void => {
  spawnSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--quality", "70-95", "--output", file, file]);
};

const take = async (url: string, shots: readonly Shot[]): Promise<void> => {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  for (const { before, name, ready, route, theme = "light" } of shots) {
    const page = await browser.newPage();
    await page.emulateMediaFeatures([
      { name: "prefers-color-scheme", value: theme },
      { name: "prefers-reduced-motion", value: "reduce" },
    ]);
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto(`${url}/${format({ ...home, ...route })}`);
    await page.waitForSelector(ready);
    await before?.(page);
    await page.waitForNetworkIdle({ idleTime: 500, concurrency: 1 });
    const file = join(pictures, `${name}.png`);
    await page.screenshot({ path: file });
    small(file);
    console.log(`${file} ${Math.ceil(statSync(file).size / 1000)} kB`);
    await page.close();
  }
  await browser.close();
};

const folders = process.argv.slice(2).map((folder) => resolve(folder));
if (folders.length === 0) throw new Error("node test/generators/screenshots.ts RUN [OTHER]");
mkdirSync(pictures, { recursive: true });
const scope = Scope.makeUnsafe();
const { url } = await Effect.runPromise(
  Scope.provide(serve({ runs: folders, host: "127.0.0.1", port: 0, token: "-".repeat(32), wide: false }), scope),
);
await take(url, await shotsOf(url));
await Effect.runPromise(Scope.close(scope, Exit.void));
