/** `millrace watch` and `millrace control` from outside. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { Effect, Exit, Scope } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Control } from "../../src/domain/Control.ts";
import { BadInput } from "../../src/domain/Errors.ts";
import { serve } from "../../src/observe/control/ControlServer.ts";
import { id, type Place, path, placed } from "../observe/watch/server/serving.ts";
import { writeRun } from "../observe/watch/syntheticRun.ts";
import { millrace, started } from "./process.ts";

const variables = { MILLRACE_TOKEN: "" };

let place: Place;
beforeAll(() => {
  place = placed({ steps: 4 });
});
afterAll(() => place.remove());

const start = (...words: readonly string[]) => started(words, variables);
const ran = (...words: readonly string[]) => millrace(words, undefined, { ...process.env, ...variables });

describe("millrace watch", () => {
  it("shows the newest run of a name, keeps the token to itself, and ends with 0 on an interrupt", async () => {
    writeRun(join(dirname(place.folder), "20261121-235959"), { steps: 2 });
    const { child, ended, spoken } = start("watch", dirname(place.folder), "--port", "0");
    const said = /^(\S+): (http:\/\/127\.0\.0\.1:\d+)\/; the token for controls is in (\S+)\n$/.exec(await spoken);
    const [, run, url, file = ""] = said ?? [];
    expect(run).toBe(id);
    expect(await (await fetch(`${url}${path()}`)).json()).toMatchObject({ id, step: 4 });
    expect(readFileSync(file, "utf8")).toMatch(/^[\w-]{43}\n$/);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(file)).toBe(false);
  });

  it("shows all runs below a folder of runs, those of sweeps too", async () => {
    writeRun(join(place.root, "sweep", "lr=1,seed=0", "20261123-000000"), { steps: 2 });
    const { child, ended, spoken } = start("watch", place.root, "--port", "0");
    const [, count, url] = /^(\d+) runs: (http:\/\/127\.0\.0\.1:\d+)\//.exec(await spoken) ?? [];
    const runs = (await (await fetch(`${url}/api/runs`)).json()) as readonly { readonly id: string }[];
    expect([Number(count), runs.map((run) => run.id)]).toEqual([
      runs.length,
      expect.arrayContaining([id, "sweep/lr=1,seed=0/20261123-000000"]),
    ]);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0 });
    rmSync(join(place.root, "sweep"), { recursive: true });
  });

  it("refuses with 2 a folder that is no run, a port in use, and other machines without a token", async () => {
    const occupant = createServer();
    const port = await new Promise<number>((resolve) =>
      occupant.listen(0, "127.0.0.1", () => resolve((occupant.address() as { port: number }).port)),
    );
    const inUse = await start("watch", place.folder, "--port", String(port)).ended;
    occupant.close();
    expect(inUse).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(`^--port: ${port}: in use on 127.0.0.1; nearest: `),
    });
    mkdirSync(join(place.root, "empty"));
    const none = expect.stringMatching(/^RUN: ".*empty": .*no config.yaml/);
    expect(ran("watch", join(place.root, "empty"))).toMatchObject({ status: 2, stderr: none });
    const wide = expect.stringMatching(/^--host: "0.0.0.0" is open to other machines, so browsers must send a token/);
    expect(ran("watch", place.folder, "--host", "0.0.0.0")).toMatchObject({ status: 2, stderr: wide });
  });
});

describe("millrace control", () => {
  const controlled = (...words: readonly string[]) => start("control", place.folder, ...words).ended;

  it("does what is asked in a running run, and says why the run refuses", async () => {
    const scope = Scope.makeUnsafe();
    const heard: Control[] = [];
    const handle = (control: Control) =>
      control._tag === "Stop"
        ? Effect.fail(new BadInput({ message: "the run is stopping" }))
        : Effect.sync(() => void heard.push(control));
    await Effect.runPromise(Scope.provide(serve(place.folder, handle), scope));
    expect(await controlled("concurrency", "rollout", "3")).toEqual({
      code: 0,
      stderr: "",
      stdout: `${id}: the concurrency of rollout is 3\n`,
    });
    expect(heard).toEqual([{ _tag: "SetConcurrency", stage: "rollout", concurrency: 3 }]);
    expect(await controlled("stop")).toEqual({ code: 2, stderr: "the run is stopping\n", stdout: "" });
    await Effect.runPromise(Scope.close(scope, Exit.void));
  });

  it("says of a run that has ended that it does not run", async () => {
    mkdirSync(place.folder, { recursive: true });
    writeFileSync(join(place.folder, "control.json"), '{"socket":"/nowhere/control","pid":1}');
    expect(await controlled("pause")).toEqual({ code: 2, stderr: `the run ${id} does not run any more\n`, stdout: "" });
  });
});
