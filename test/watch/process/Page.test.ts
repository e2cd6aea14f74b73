/** The page that a training run starts: a process of its own that ends with the run, and outlives a killed one only while it is looked at. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { describe, it } from "@effect/vitest";
import { Effect, Exit, Scope } from "effect";
import { expect } from "vitest";
import { servePage } from "../../../src/watch/process/Page.ts";
import { placed } from "../server/serving.ts";

const place = Effect.acquireRelease(
  Effect.sync(() => placed({ steps: 4 })),
  ({ remove }) => Effect.sync(remove),
);

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/api/runs`).then(
    ({ ok }) => ok,
    () => false,
  );

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
        expect(yield* Effect.promise(() => answers(url))).toBe(false);
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
        const taken = createServer();
        const port = yield* Effect.promise(
          () =>
            new Promise<number>((resolve) =>
              taken.listen(0, "127.0.0.1", () => resolve((taken.address() as { port: number }).port)),
            ),
        );
        const refused = yield* Effect.flip(servePage({ folder, port, terminal: false }));
        taken.close();
        expect(refused.message).toMatch(new RegExp(`^--watch: ${port}: in use on 127.0.0.1; nearest: \\d+$`));
      }),
    ),
  );
});

const program = (folder: string): string => `
  import { Effect } from "effect";
  import { servePage } from ${JSON.stringify(new URL("../../../src/watch/process/Page.ts", import.meta.url).href)};
  const serving = servePage({ folder: ${JSON.stringify(folder)}, port: 0, terminal: true });
  await Effect.runPromise(Effect.scoped(Effect.andThen(serving, (page) => {
    console.log(page.url);
    return Effect.never;
  })));
`;

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => child.stdout?.once("data", (data) => resolve(String(data).trim())));

describe("the page of a training run that is killed", () => {
  it("stays while a browser looks, and ends after that", async () => {
    const { folder, remove } = placed({ steps: 4 });
    const cwd = new URL("../../..", import.meta.url).pathname;
    const run = spawn(process.execPath, ["--input-type=module", "--eval", program(folder)], { cwd });
    const url = await firstLine(run);
    const looking = new AbortController();
    const live = `${url}/api/runs/${encodeURIComponent("made/20261122-000000")}/live`;
    const browser = await fetch(live, { signal: looking.signal });
    run.kill("SIGKILL");
    await new Promise((resolve) => run.on("exit", resolve));
    expect(browser.status).toBe(200);
    expect(await answers(url)).toBe(true);
    looking.abort();
    while (await answers(url)) await new Promise((resolve) => setTimeout(resolve, 200));
    remove();
  });
});
