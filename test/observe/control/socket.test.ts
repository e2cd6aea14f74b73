/** Controls on their way from a shell or a page to the run, over a real socket. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { dirname, join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Exit, Scope } from "effect";
import { expect } from "vitest";
import type { Control } from "../../../src/domain/Control.ts";
import { BadInput } from "../../../src/domain/Errors.ts";
import { sendControl } from "../../../src/observe/control/ControlClient.ts";
import * as ControlFile from "../../../src/observe/control/ControlFile.ts";
import { type ControlHandler, serve } from "../../../src/observe/control/ControlServer.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const pause: Control = { _tag: "PauseAdmission" };

const reasonOf = <A>(effect: Effect.Effect<A, BadInput>) => Effect.map(Effect.flip(effect), ({ message }) => message);

const addressOf = (path: string) =>
  Effect.map(
    Effect.promise(() => ControlFile.read(path)),
    (address) => address!,
  );

/** The answer of the socket to a text. */
const said = (path: string, text: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve) => {
        let heard = "";
        const socket = createConnection(path, () => socket.write(text));
        socket.on("data", (data) => {
          heard += String(data);
        });
        socket.on("error", () => undefined);
        socket.on("close", () => resolve(heard));
      }),
  );

/** A server that is closed by hand. */
const running = Effect.fnUntraced(function* (path: string, handle: ControlHandler<never> = () => Effect.void) {
  const scope = yield* Scope.make();
  yield* Scope.provide(serve(path, handle), scope);
  return Scope.close(scope, Exit.void);
});

describe("a run's controls", () => {
  it.live("reach the run with who asks", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        const heard: unknown[] = [];
        yield* serve(path, (control, by) => Effect.sync(() => void heard.push([control, by])));
        const set: Control = { _tag: "SetConcurrency", stage: "rollout", concurrency: 3 };
        yield* sendControl(path, set, "shell");
        yield* sendControl(path, pause, "page");
        expect(heard).toEqual([
          [set, "shell"],
          [pause, "page"],
        ]);
      }),
    ),
  );

  it.live("are refused with the run's reason", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        yield* serve(path, () => Effect.fail(new BadInput({ message: "admission is paused already" })));
        expect(yield* reasonOf(sendControl(path, pause, "shell"))).toBe("admission is paused already");
      }),
    ),
  );

  it.live("of a handler that dies are answered, and the next one is taken", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        let calls = 0;
        yield* serve(path, () => (calls++ === 0 ? Effect.die(new Error("secret")) : Effect.void));
        expect(yield* reasonOf(sendControl(path, pause, "shell"))).toBe("the run could not carry it out");
        yield* sendControl(path, pause, "shell");
        expect(calls).toBe(2);
      }),
    ),
  );

  it.live("have an address that only the user can read, gone with the run", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        const close = yield* running(path);
        const { socket } = yield* addressOf(path);
        const modes = yield* Effect.promise(() =>
          Promise.all(
            [join(path, "control.json"), dirname(socket)].map(async (each) => (await stat(each)).mode & 0o777),
          ),
        );
        expect(modes).toEqual([0o600, 0o700]);
        yield* close;
        expect(yield* Effect.promise(() => readdir(path))).toEqual([]);
        yield* Effect.promise(async () => expect(stat(dirname(socket))).rejects.toThrow("ENOENT"));
      }),
    ),
  );

  it.live("to a run that has ended, or was killed, say so", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        const gone = `the run ${ControlFile.runNameOf(path)} does not run any more`;
        expect(yield* reasonOf(sendControl(path, pause, "shell"))).toBe(gone);
        const close = yield* running(path);
        const left = yield* Effect.promise(() => readFile(join(path, "control.json"), "utf8"));
        yield* close;
        yield* Effect.promise(() => writeFile(join(path, "control.json"), left));
        expect(yield* reasonOf(sendControl(path, pause, "shell"))).toBe(gone);
      }),
    ),
  );

  it.live("of a resumed run replace the address that a killed one left", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        yield* Effect.promise(() =>
          writeFile(join(path, "control.json"), '{"socket":"/nowhere","pid":1}', { mode: 0o644 }),
        );
        yield* serve(path, () => Effect.void);
        yield* sendControl(path, pause, "shell");
        const { mode } = yield* Effect.promise(() => stat(join(path, "control.json")));
        expect(mode & 0o777).toBe(0o600);
      }),
    ),
  );

  it.live("that are none are not given to the run", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* temporaryFolder;
        let calls = 0;
        yield* serve(path, () => Effect.sync(() => void calls++));
        const { socket } = yield* addressOf(path);
        const none = '{"error":"this is no control"}\n';
        expect(yield* said(socket, "\n")).toBe(none);
        expect(yield* said(socket, '{"control":{"_tag":"Stop"},"by":"root"}\n')).toBe(none);
        const zero = '{"control":{"_tag":"SetConcurrency","stage":"rollout","concurrency":0},"by":"page"}\n';
        expect(yield* said(socket, zero)).toBe(none);
        expect(yield* said(socket, "x".repeat(100_000))).toBe("");
        expect(calls).toBe(0);
      }),
    ),
  );
});
