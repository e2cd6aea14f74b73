/** Time travel, controls and keys: every button is pressed, and what the run was asked for is what the reader meant. */
import type { Browser } from "puppeteer-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TOKEN } from "../observe/watch/page/mockServer.ts";
import { launch, sees, textOf, type Visit, type VisitOptions, visit } from "./Visit.ts";

let browser: Browser;
let open: Visit | null = null;
/** Chromium reports these refusals itself; the tests provoke them. */
const refusals = /Failed to load resource: the server responded with a status of (400|401)/;
/** Chromium reports this while the server is gone. */
const lost = /Failed to load resource: net::ERR_/;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
afterEach(async () => {
  const troubles = open?.troubles.filter((trouble) => !refusals.test(trouble) && !lost.test(trouble));
  await open?.close();
  open = null;
  expect(troubles).toEqual([]);
});

const go = async (options?: VisitOptions): Promise<Visit> => {
  open = await visit(browser, options);
  await open.page.waitForSelector(".slider");
  return open;
};

describe("time travel", () => {
  it("goes by keys on the slider, and back to live", async () => {
    const { page } = await go();
    await page.focus(".slider");
    await page.keyboard.press("ArrowLeft");
    await sees(page, ".moment", /^step 299|^step 300/);
    await page.keyboard.press("PageDown");
    await sees(page, ".moment", /^step 29\d/);
    await page.keyboard.press("Home");
    await sees(page, ".moment", /^step 0/);
    await sees(page, ".weights", /learned v0/);
    await page.keyboard.press("ArrowRight");
    await sees(page, ".weights", /learned v1/);
    await page.keyboard.press("PageUp");
    await sees(page, ".weights", /learned v11/);
    expect(await page.evaluate(() => location.hash)).toMatch(/at=\d+/);
    await page.keyboard.press("End");
    await sees(page, ".weights", /learned v300/);
    expect(await page.evaluate(() => location.hash)).not.toMatch(/at=/);
  });

  it("shows every view as it was", async () => {
    const { page } = await go();
    await page.focus(".slider");
    await page.keyboard.press("Home");
    for (let i = 0; i < 4; i++) await page.keyboard.press("PageUp");
    await sees(page, ".weights", /learned v40/);
    await page.keyboard.press("4");
    await sees(page, ".windowpanel h3", /Window of step 40/);
    await page.keyboard.press("3");
    await page.waitForSelector(".chartcard canvas");
    await page.keyboard.press("l");
    await page.waitForFunction(() => !location.hash.includes("at="));
  });

  it("plays at three speeds and holds", async () => {
    const { page } = await go();
    for (const speed of ["1×", "10×", "60×"]) {
      await page.evaluate(
        (speed) =>
          [...document.querySelectorAll<HTMLElement>(".timebar .segments button")]
            .find(({ textContent }) => textContent === speed)
            ?.click(),
        speed,
      );
    }
    await page.click(".timebar button.icon");
    await sees(page, ".moment", /^step (\d|\d\d) /);
    await sees(page, ".moment", /^step [1-9]/);
    await page.click(".timebar button.icon");
    await page.waitForSelector("button[aria-label=Play]");
    await page.click(".timebar .live");
    await sees(page, ".moment", /^step 300/);
  });

  it("jumps to a mark", async () => {
    const { page } = await go();
    await page.waitForSelector(".tick.checkpoint");
    await page.click(".tick.checkpoint");
    await sees(page, ".moment", /^step 100/);
  });
});

describe("controls", () => {
  it("ask for the token once, and send what was pressed with it", async () => {
    const { page, server } = await go();
    await page.waitForSelector("[data-control=PauseAdmission]");
    await page.click("[data-control=PauseAdmission]");
    await page.waitForSelector("dialog[open] input[type=password]");
    await page.type("dialog[open] input[type=password]", "wrong");
    await page.keyboard.press("Enter");
    await sees(page, "dialog[open]", /does not know this token/);
    await page.type("dialog[open] input[type=password]", TOKEN);
    await page.keyboard.press("Enter");
    await sees(page, ".toast", /Admission is paused/);
    await sees(page, ".linestates", /Admission is paused/);
    await page.click("[data-control=ResumeAdmission]");
    await sees(page, ".toast", /Admission goes on/);
    await page.waitForSelector("[data-control=PauseAdmission]:not(:disabled)");
    await page.click("[data-control=Validate]");
    await sees(page, ".toast", /A validation follows/);
    await page.waitForSelector("[data-control=Checkpoint]:not(:disabled)");
    await page.click("[data-control=Checkpoint]");
    await sees(page, ".toast", /A checkpoint follows/);
    expect(server.controls.map(({ _tag }) => _tag)).toEqual([
      "PauseAdmission",
      "ResumeAdmission",
      "Validate",
      "Checkpoint",
    ]);
  });

  it("stop the run when that is confirmed alone", async () => {
    const { page, server } = await go({ path: `#token=${TOKEN}` });
    expect(await page.evaluate(() => location.href.includes("token"))).toBe(false);
    await page.click("[data-control=Stop]");
    await sees(page, "dialog[open]", /Stop the run\?/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { hidden: true });
    expect(server.controls).toEqual([]);
    await page.click("[data-control=Stop]");
    await page.waitForSelector("[data-confirm=Stop]");
    await page.click("[data-confirm=Stop]");
    await sees(page, ".toast", /The run stops/);
    expect(server.controls).toEqual([{ _tag: "Stop" }]);
  });

  it("set slots by steps and by number, and show why one is refused", async () => {
    const { page, server } = await go({ path: `#token=${TOKEN}` });
    await page.waitForSelector("button[aria-label='One slot more for rollout']");
    await page.click("button[aria-label='One slot more for rollout']");
    await page.waitForFunction(
      () => document.querySelector<HTMLInputElement>("input[aria-label='Slots of rollout']")?.value === "17",
    );
    await page.click("button[aria-label='One slot less for rollout']");
    await page.waitForFunction(
      () => document.querySelector<HTMLInputElement>("input[aria-label='Slots of rollout']")?.value === "16",
    );
    await page.click("input[aria-label='Slots of generate']", { count: 3 });
    await page.keyboard.type("24");
    await page.keyboard.press("Enter");
    await sees(page, ".toast", /generate has 24 slots/);
    await page.click("input[aria-label='Slots of generate']", { count: 3 });
    await page.keyboard.type("99");
    await page.keyboard.press("Enter");
    await sees(page, ".toast.bad", /generate takes at most 64 slots/);
    await page.click(".toast.bad button");
    await page.waitForSelector(".toast.bad", { hidden: true });
    await page.waitForSelector("[data-stage=learn] button[aria-label='One lane more']:disabled");
    await page.click("[data-stage=learn] button[aria-label='One lane less']");
    await sees(page, ".toast", /An update has 1 lane from the next window on/);
    expect(server.controls).toEqual([
      { _tag: "SetConcurrency", stage: "rollout", concurrency: 17 },
      { _tag: "SetConcurrency", stage: "rollout", concurrency: 16 },
      { _tag: "SetConcurrency", stage: "generate", concurrency: 24 },
      { _tag: "SetConcurrency", stage: "lanes", concurrency: 1 },
    ]);
  });

  it("are off at a past moment, which the head tells, and gone for a run that is over", async () => {
    const { page } = await go();
    await page.focus(".slider");
    await page.keyboard.press("Home");
    await page.waitForSelector("[data-control=Stop]:disabled");
    expect(await page.$eval("[data-control=Stop]", (button) => (button as HTMLElement).title)).toMatch(
      /go back to live/,
    );
    await sees(page, ".top .pill", /^was running$/);
    await sees(page, ".top .progress", /^ ?step 0 \/ 600/);
    await page.select("select[aria-label=Run]", "quickstart/20261121-231202");
    await page.waitForSelector("[data-control]", { hidden: true });
    await sees(page, ".banner", /The run ended at .*completed/);
    await sees(page, ".top .pill", /^completed$/);
    await page.focus(".slider");
    await page.keyboard.press("Home");
    await sees(page, ".top .pill", /^was running$/);
    expect(await page.$(".banner")).toBeNull();
  });

  it("go when the run ends, and the head keeps its end when the server has ended too", async () => {
    const { page, server } = await go();
    await page.waitForSelector("[data-control=Stop]");
    server.end("stopped");
    await sees(page, ".top .pill", /^stopped$/);
    await page.waitForSelector("[data-control]", { hidden: true });
    await server.close();
    await sees(page, ".banner", /The page's server has ended too/);
    expect(await textOf(page, ".top .pill")).toBe("stopped");
  });

  it("are off while the connection is lost, and the head does not say that the run goes on", async () => {
    const { page, server } = await go();
    await page.waitForSelector("[data-control=Stop]");
    await server.close();
    await sees(page, ".top .pill", /^connection lost$/);
    await page.waitForSelector("[data-control=Stop]:disabled");
    expect(await page.$eval("[data-control=Stop]", (button) => (button as HTMLElement).title)).toMatch(
      /does not answer/,
    );
  });
});

describe("keys", () => {
  it("go from view to view, change the theme and tell of themselves", async () => {
    const { page } = await go();
    for (const [key, view] of [
      ["1", "summary"],
      ["3", "curves"],
      ["4", "filter"],
      ["5", "episodes"],
      ["6", "runs"],
      ["2", "line"],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForFunction((view) => location.hash.startsWith(`#/${view}`), {}, view);
    }
    await page.keyboard.press("t");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await page.click("button[aria-label='Light theme']");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
    await page.keyboard.press(",");
    await page.waitForFunction(() => location.hash.includes("at="));
    await page.keyboard.type("?");
    await sees(page, "dialog[open]", /Keys/);
    await page.click("dialog[open] button.primary");
    await page.waitForSelector("dialog[open]", { hidden: true });
  });

  it("reach every control by tab, each with a ring", async () => {
    const { page } = await go();
    const reached = new Set<string>();
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const element = document.activeElement;
        if (element === null || element === document.body) return null;
        const ring = getComputedStyle(element).outlineStyle !== "none";
        return `${element.getAttribute("aria-label") ?? element.textContent?.trim() ?? element.tagName} ${ring ? "" : "without a ring"}`;
      });
      if (at !== null) reached.add(at.trim());
    }
    const all = [...reached];
    for (const name of [
      "Run",
      "Pause",
      "Stop",
      "Keys",
      "Curves",
      "Slots of rollout",
      "Moment of the run",
      "Play",
      "live",
    ]) {
      expect(all, name).toContain(name);
    }
    expect(all.filter((name) => name.endsWith("without a ring") && !name.startsWith("main"))).toEqual([]);
  });
});
