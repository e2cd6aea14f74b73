/** The page that a training run starts: a process of its own that outlives the run until browsers have its end, or a killed one while it is looked at. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Exit, Scope } from "effect";
import { expect } from "vitest";
import { servePage } from "../../../../src/observe/watch/process/Page.ts";
import { currentOwner } from "../../../../src/support/process/Owner.ts";
import { placed } from "../server/serving.ts";
import { START } from "../syntheticRun.ts";

const place = Effect.acquireRelease(
  Effect.sync(() => placed({ steps: 4 })),
  ({ remove }) => Effect.sync(remove),
);

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/api/runs`).then(
    ({ ok }) => ok,
    () => false,
  );

const untilGone = async (url: string): Promise<void> => {
  while (await answers(url)) await new Promise((resolve) => setTimeout(resolve, 100));
};

const liveOf = (url: string): string => `${url}/api/runs/${encodeURIComponent("made/20261122-000000")}/live`;

/** The messages of a browser until its stream is closed. */
const heardBy = async (browser: Response, onText: (text: string) => void): Promise<void> => {
  let text = "";
  for await (const piece of browser.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    onText(text);
  }
};

describe("the page of a training run", () => {
  it.live("is there while the run lives, and its token is in a file of the user's alone", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder } = yield* place;
        const scope = yield* Scope.make();
        const { line, url } = yield* Scope.provide(servePage({ folder, port: 0, terminal: false }), scope);
        expect(yield* Effect.promise(() => answers(url))).toBe(true);
        const file = /the token for controls is in (\S+)$/.exec(line)?.[1] ?? "";
        expect(statSync(file).mode & 0o777).toBe(0o600);
        expect(line).not.toContain(readFileSync(file, "utf8").trim());
        yield* Scope.close(scope, Exit.void);
        yield* Effect.promise(() => untilGone(url));
        expect(existsSync(file)).toBe(false);
      }),
    ),
  );

  it.live("has its token in its address on a terminal", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder } = yield* place;
        const { line, url } = yield* servePage({ folder, port: 0, terminal: true });
        expect(line).toMatch(new RegExp(`^page: ${url}/#token=[\\w-]{43}$`));
      }),
    ),
  );

  it.live("refuses a port in use, and names the next free one", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder } = yield* place;
        const blocker = createServer();
        const port = yield* Effect.promise(
          () =>
            new Promise<number>((resolve) =>
              blocker.listen(0, "127.0.0.1", () => resolve((blocker.address() as { port: number }).port)),
            ),
        );
        const refused = yield* Effect.flip(servePage({ folder, port, terminal: false }));
        blocker.close();
        expect(refused.message).toMatch(new RegExp(`^--watch: ${port}: in use on 127.0.0.1; nearest: \\d+$`));
      }),
    ),
  );
});

describe("the page of a run that ended", () => {
  it("stays until its browser is told how the run ended and has asked its last questions", async () => {
    const { folder, remove } = placed({ steps: 4, ended: false });
    writeFileSync(join(folder, "lock"), JSON.stringify(await currentOwner("2026-11-22T00:00:00Z")));
    const scope = Scope.makeUnsafe();
    const page = Scope.provide(servePage({ folder, port: 0, terminal: false }), scope);
    const { url } = await Effect.runPromise(page);
    let atTheEnd: Promise<boolean> | null = null;
    const heard = heardBy(await fetch(liveOf(url)), (text) => {
      if (text.includes("event: ended")) atTheEnd ??= answers(url);
    });
    await Effect.runPromise(Scope.close(scope, Exit.void));
    // A run lets go of its page before it writes its last line and frees its folder.
    expect(await answers(url)).toBe(true);
    const end = { step: 4, at: START + 5_000, _tag: "End", outcome: "completed", message: "" };
    appendFileSync(join(folder, "events.jsonl"), `${JSON.stringify(end)}\n`);
    rmSync(join(folder, "lock"));
    await heard;
    expect(await atTheEnd).toBe(true);
    await untilGone(url);
    remove();
  });

  it("does not keep the run's process", async () => {
    const { folder, remove } = placed({ steps: 4 });
    const run = started(folder, `process.stdin.on("data", () => resume(Effect.void))`);
    const url = await firstLine(run);
    const looking = new AbortController();
    await fetch(liveOf(url), { signal: looking.signal });
    run.stdin?.end("end");
    expect(await new Promise((resolve) => run.on("exit", resolve))).toBe(0);
    expect(await answers(url)).toBe(true);
    looking.abort();
    await untilGone(url);
    remove();
  });

  it("ends at once when it is terminated, though a browser looks", async () => {
    const { folder, remove } = placed({ steps: 4, ended: false });
    writeFileSync(join(folder, "lock"), JSON.stringify(await currentOwner("2026-11-22T00:00:00Z")));
    const child = fork(new URL("../../../../src/observe/watch/process/main.ts", import.meta.url), { execArgv: [] });
    child.send({ folder, port: 0, terminal: true });
    const [{ url }] = (await once(child, "message")) as [{ readonly url: string }];
    const browser = await fetch(liveOf(url));
    child.disconnect();
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    await browser.body?.cancel();
    remove();
  });
});

const program = (folder: string, end: string): string => `
  import { Effect } from "effect";
  import { servePage } from ${JSON.stringify(new URL("../../../../src/observe/watch/process/Page.ts", import.meta.url).href)};
  const serving = servePage({ folder: ${JSON.stringify(folder)}, port: 0, terminal: true });
  await Effect.runPromise(Effect.scoped(Effect.andThen(serving, (page) => {
    console.log(page.url);
    return Effect.callback((resume) => { ${end} });
  })));
`;

/** A process with a page, which ends in order when `end` says so. */
const started = (folder: string, end = ""): ChildProcess =>
  spawn(process.execPath, ["--input-type=module", "--eval", program(folder, end)], {
    cwd: new URL("../../../..", import.meta.url).pathname,
  });

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => child.stdout?.once("data", (data) => resolve(String(data).trim())));

describe("the page of a training run that is killed", () => {
  it("stays while a browser looks, and ends after that", async () => {
    const { folder, remove } = placed({ steps: 4 });
    const run = started(folder);
    const url = await firstLine(run);
    const looking = new AbortController();
    const browser = await fetch(liveOf(url), { signal: looking.signal });
    run.kill("SIGKILL");
    await new Promise((resolve) => run.on("exit", resolve));
    expect(browser.status).toBe(200);
    expect(await answers(url)).toBe(true);
    looking.abort();
    await untilGone(url);
    remove();
  });
});
