/** Every view of the page, as a reader sees it: what it shows, in light and dark, wide and narrow, and by keyboard. */
import type { Browser } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { launch, sees, textOf, type Visit, type VisitOptions, visit } from "./Visit.ts";

let browser: Browser;
let open: Visit | null = null;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
afterEach(async () => {
  const troubles = open?.troubles;
  await open?.close();
  open = null;
  expect(troubles).toEqual([]);
});

const go = async (options?: VisitOptions): Promise<Visit> => {
  open = await visit(browser, options);
  return open;
};

const shades = { light: { path: "", theme: "light" }, dark: { path: "", theme: "dark" } } as const;

describe("the line", () => {
  it("shows every stage, the groups in it, the bottleneck and the weights", async () => {
    const { page } = await go();
    await sees(page, ".stage h3", /^rollout$/);
    const stages = await page.$$eval(".stage[data-stage] h3", (all) => all.map((element) => element.textContent));
    expect(stages).toEqual(["rollout", "window", "score", "filter", "learn", "close", "step", "generate"]);
    expect(await textOf(page, ".bottleneck")).toMatch(
      /bottleneck rollout since .* Limit: slots. One more slot: \+6.2 %/,
    );
    expect(await textOf(page, ".weights")).toContain("learned v300");
    expect((await page.$$(".marks .mark")).length).toBeGreaterThan(10);
  });

  it("shows the parts of the run on other machines, and since when one does not answer", async () => {
    const { page } = await go();
    const servers = await page.$$eval(".servers li", (all) => all.map((element) => element.innerText));
    expect(servers).toHaveLength(3);
    expect(servers[0]).toMatch(/generator\s+http:\/\/127\.0\.0\.1:8000\s+answers/);
    expect(servers[1]).toMatch(/no answer\s+the connection is refused; for 12.* s, 3 attempts, again in 4.* s/);
    expect(servers[2]).toMatch(/lost\s+its lease ended; for 1 m 30 s/);
  });

  it("moves as the run does", async () => {
    const { page, server } = await go();
    await sees(page, ".progress", /step 300/);
    server.tick(4000);
    await sees(page, ".progress", /step 302/);
    await sees(page, ".weights", /learned v302/);
  });

  it("keeps hundreds of groups inside their trays", async () => {
    const { page } = await go({ path: "#/line?run=_2_sokoban%2F20261121-120000" });
    await page.waitForSelector(".mark");
    const outside = await page.evaluate(() => {
      const trays = [...document.querySelectorAll(".tray")].map((tray) => tray.getBoundingClientRect());
      return [...document.querySelectorAll(".marks .mark")].filter((mark) => {
        const { bottom, left, right, top } = mark.getBoundingClientRect();
        return !trays.some(
          (tray) => left >= tray.left && right <= tray.right && top >= tray.top && bottom <= tray.bottom,
        );
      }).length;
    });
    expect(outside).toBe(0);
  });

  it("stays where the address names it when the run dies, and says so", async () => {
    const { page, server } = await go({ path: "#/line" });
    await sees(page, ".pill", /running/);
    server.end("dead");
    await sees(page, ".banner", /The run died at/);
    expect(await page.$$(".stage[data-stage]")).toHaveLength(8);
  });
});

describe("the curves", () => {
  it("draw the usual metrics, others on demand, and find them by their words", async () => {
    const { page } = await go({ path: "#/curves" });
    await page.waitForSelector(".chartcard canvas");
    const before = (await page.$$(".chartcard")).length;
    expect(before).toBeGreaterThan(5);
    await page.type("input[type=search]", "learning rate");
    await page.waitForFunction(() => document.querySelectorAll(".picklist label").length === 1);
    await page.click(".picklist input[type=checkbox]");
    await page.waitForSelector("[data-metric='actor/lr'] canvas");
    expect(await page.$$(".chartcard")).toHaveLength(before + 1);
    await page.click("[data-metric='actor/lr'] button[aria-label^=Remove]");
    await page.waitForFunction((count) => document.querySelectorAll(".chartcard").length === count, {}, before);
    await page.evaluate(() => document.querySelectorAll<HTMLElement>(".pickerbuttons button")[1]?.click());
    await sees(page, ".empty", /Choose a metric/);
    await page.evaluate(() => document.querySelectorAll<HTMLElement>(".pickerbuttons button")[0]?.click());
    await page.waitForSelector(".chartcard canvas");
  });

  it("take every setting, zoom by drag and come back by double-click", async () => {
    const { page } = await go({ path: "#/curves" });
    await page.waitForSelector(".chartcard canvas");
    for (const label of ["time", "min – max", "log", "marks"]) {
      await page.evaluate(
        (label) =>
          [...document.querySelectorAll<HTMLElement>(".chartbar button")]
            .find((button) => button.textContent === label)
            ?.click(),
        label,
      );
      await page.waitForSelector(".chartcard canvas");
    }
    await page.focus("input[aria-label=Smoothing]");
    await page.keyboard.press("ArrowRight");
    await sees(page, ".smoothing output", /0\.61/);
    const over = await page.$(".u-over");
    const box = await over!.boundingBox();
    await page.mouse.move(box!.x + 50, box!.y + 50);
    await page.mouse.down();
    await page.mouse.move(box!.x + 150, box!.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() =>
      [...document.querySelectorAll<HTMLButtonElement>(".chartbar button")].some(
        ({ disabled, textContent }) => textContent === "whole run" && !disabled,
      ),
    );
    await page.mouse.click(box!.x + 100, box!.y + 50, { count: 2 });
    await page.waitForFunction(() =>
      [...document.querySelectorAll<HTMLButtonElement>(".chartbar button")].some(
        ({ disabled, textContent }) => textContent === "whole run" && disabled,
      ),
    );
  });

  it("tell the values under the cursor, and lay other runs over", async () => {
    const { page } = await go({ path: "#/runs" });
    await page.waitForSelector("tbody tr");
    await page.click("tbody tr:nth-child(2) input[type=checkbox]");
    await page.waitForFunction(() => location.hash.includes("over="));
    await page.keyboard.press("3");
    await page.waitForSelector(".chartcard canvas");
    await page.waitForFunction(() => document.querySelectorAll(".runchip").length === 2);
    const box = await (await page.$(".u-over"))!.boundingBox();
    await page.mouse.move(box!.x + 90, box!.y + 50);
    await sees(page, ".readout", /step \d+.*0\.\d+/);
    await page.click(".runchip button");
    await page.waitForFunction(() => !location.hash.includes("over="));
  });

  it("offer CSV and PNG", async () => {
    const { page } = await go({ path: "#/curves" });
    await page.waitForSelector(".chartcard canvas");
    // The name of the file that a button saves, and what is in a text.
    const saved = (button: string) =>
      page.evaluate(
        (button) =>
          new Promise<readonly string[]>((resolve) => {
            let text: Promise<string> | null = null;
            URL.createObjectURL = (blob) => {
              if (blob instanceof Blob && blob.type.startsWith("text/")) text = blob.text();
              return "";
            };
            HTMLAnchorElement.prototype.click = function () {
              if (text === null) resolve([this.download]);
              else void text.then((text) => resolve([this.download, text]));
            };
            document.querySelector<HTMLElement>(button)?.click();
          }),
        button,
      );
    expect(await saved(".actions [data-csv]")).toEqual(["val-env_success.csv", "step,val-env/success\n"]);
    expect(await saved(".actions button:not([data-csv])")).toEqual(["val-env_success.png"]);
  });
});

describe("a finished run", () => {
  it("opens on its summary and its curves, and shows the validation as it was measured", async () => {
    const { page } = await go({ path: "#/?run=quickstart%2F20261121-231202" });
    await sees(page, ".resultsentence", /^quickstart completed 600 steps in 20 m 00 s: validation success went from /);
    await page.waitForSelector("[data-metric='val-env/success'] canvas");
    expect(await textOf(page, ".viewtabs [aria-current]")).toBe("Summary");
    await sees(page, ".next code", /millrace watch runs\/quickstart\/20261121-231202/);
  });
});

describe("the runs", () => {
  it("are compared by results and by what their configurations differ in, sorted by any column and searched", async () => {
    const { page } = await go({ path: "#/runs" });
    await sees(page, "thead", /pipeline\.mode/);
    const names = () => page.$$eval(".runname a", (all) => all.map(({ textContent }) => textContent ?? ""));
    const sortBy = (title: string) =>
      page.evaluate(
        (title) =>
          [...document.querySelectorAll<HTMLElement>("thead button")]
            .find(({ textContent }) => textContent?.startsWith(title))
            ?.click(),
        title,
      );
    await sortBy("last");
    await page.waitForSelector("th[aria-sort=descending]");
    const shares = () =>
      page.$$eval("tbody td:nth-child(5) b", (all) =>
        all.map(({ textContent }) => Number.parseFloat(textContent ?? "")),
      );
    const descending = await shares();
    expect(descending).toEqual([...descending].sort((a, b) => b - a));
    await sortBy("last");
    await page.waitForSelector("th[aria-sort=ascending]");
    expect(await shares()).toEqual(descending.toReversed());
    await page.type("input[aria-label='Find runs']", "sokoban");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    expect((await names())[0]).toMatch(/^_2_sokoban/);
  });
});

describe("the filter", () => {
  it("shows all windows, and one by pointer or keys, up to its episodes", async () => {
    const { page } = await go({ path: "#/filter" });
    await sees(page, ".windowpanel h3", /Window of step 300/);
    await page.focus(".windowmap canvas");
    await page.keyboard.press("Home");
    await sees(page, ".windowpanel h3", /Window of step 1$/);
    await page.keyboard.press("End");
    for (const label of ["by score", "last 50", "whole run", "by rank"]) {
      await page.evaluate(
        (label) =>
          [...document.querySelectorAll<HTMLElement>(".filterview button")]
            .find((button) => button.textContent === label)
            ?.click(),
        label,
      );
    }
    await page.click(".windowmap canvas", { offset: { x: 5, y: 100 } });
    await sees(page, ".windowpanel h3", /Window of step \d$/);
    await page.keyboard.press("End");
    await page.waitForSelector(".windowtable a");
    await page.click(".windowtable a");
    await page.waitForFunction(() => location.hash.startsWith("#/episodes/train/300/"));
  });
});

describe.each(Object.entries(shades))("in %s", (_, shade) => {
  it.each(["summary", "line", "curves", "filter", "episodes", "runs"])(
    "%s is legible, and no wider than a telephone",
    async (view) => {
      const { page } = await go({ ...shade, path: `#/${view}`, width: 390, height: 844 });
      await page.waitForSelector(".timebar input");
      const { across, ground, head, text } = await page.evaluate(() => {
        const style = getComputedStyle(document.body);
        return {
          across: document.documentElement.scrollWidth,
          head: document.querySelector("main")?.getBoundingClientRect().top ?? 0,
          ground: style.backgroundColor,
          text: style.color,
        };
      });
      expect(across).toBeLessThanOrEqual(390);
      expect(head).toBeLessThan(844 / 4);
      const light = (colour: string): number =>
        (colour.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
      expect(Math.abs(light(ground) - light(text))).toBeGreaterThan(500);
      expect(light(ground) > light(text)).toBe(shade.theme === "light");
    },
  );
});

describe("hostile words", () => {
  it("are shown as text in every view", async () => {
    const { page } = await go({ path: "#/runs" });
    await sees(page, ".runname a", /<img src=x onerror/);
    await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".runname a")]
        .find(({ textContent }) => textContent?.startsWith("<img"))
        ?.click(),
    );
    await sees(page, ".banner", /failed at .*<script>/);
    for (const view of ["curves", "filter", "episodes", "line"]) {
      await page.evaluate((view) => {
        location.hash = location.hash.replace(/^#\/\w+/, `#/${view}`);
      }, view);
      await page.waitForSelector("main > *");
    }
    expect(
      await page.evaluate(
        () => "owned" in window || document.querySelector("main img, .banner img, script:not([type])") !== null,
      ),
    ).toBe(false);
  });
});
