/** Hostile input: run files made to hurt, web pages and strangers that call a served environment. */
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { temporaryFolder } from "../temporaryFolder.ts";
import * as Trial from "./Trial.ts";

/** Levels of an alias bomb: each holds the one before nine times. */
const bomb = Array.from({ length: 12 }, (_, at) =>
  at === 0
    ? "a0: &a0 [x, x, x, x, x, x, x, x, x]"
    : `a${at}: &a${at} [${Array(9)
        .fill(`*a${at - 1}`)
        .join(", ")}]`,
).join("\n");

const files: Readonly<Record<string, string>> = {
  "an alias bomb": bomb,
  "a cyclic alias": "run: &run { name: *run }\n",
  "twenty thousand unknown keys": Array.from({ length: 20_000 }, (_, at) => `k${at}: ${at}`).join("\n"),
  "deep nesting": `run: ${"[".repeat(10_000)}${"]".repeat(10_000)}\n`,
  "binary noise": "\u0000\u0001\ufffd",
  "a prototype": "__proto__: { polluted: 1 }\n",
};

const overrides = [
  "generation.slots=1e9",
  "run.name=../../x",
  "actor.lr=1e308",
  "actor.grad_clip=1e20",
  "critic.layers=1000000",
  "model.generator_threads=3000",
  "pipeline.step_threads=100000",
  `run.name=${"x".repeat(100_000)}`,
];

/** One short text for a user: nothing of ours is in it. */
const refused = ({ code, stderr, stdout }: Trial.Ended, named: string): void => {
  expect([named, code, stdout]).toEqual([named, 2, ""]);
  expect(stderr.length).toBeLessThan(4_200);
  expect(stderr).not.toMatch(/\n {4}at /);
};

describe("a run file made to hurt", () => {
  it.live("is refused with one short message, whatever it holds", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        for (const [name, text] of Object.entries(files)) {
          const file = join(dir, "run.yaml");
          writeFileSync(file, text);
          refused(yield* Trial.outcome(["train", "--config-name", file]), name);
        }
        for (const override of overrides) {
          const words = ["train", "--config-name", "quickstart", `run.dir=${dir}`, override];
          refused(yield* Trial.outcome(words), override.slice(0, 40));
        }
      }),
    ),
  );
});

describe("a tokenizer whose regular expression runs too long", () => {
  it.live.each(["train", "evaluate"])("is refused by %s with its name and the limit", (command) =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make();
        const path = join(trial.dir, "model", "tokenizer.json");
        const tokenizer = JSON.parse(readFileSync(path, "utf8"));
        const pattern = { Regex: "(\\p{L}+)*$" };
        const pre_tokenizer = { type: "Split", pattern, behavior: "Isolated", invert: false };
        writeFileSync(path, JSON.stringify({ ...tokenizer, pre_tokenizer }));
        const ended = yield* Trial.outcome([command, "--config-name", trial.file]);
        refused(ended, command);
        expect(ended.stderr).toContain(
          `the regular expression ${JSON.stringify(pattern.Regex)} of its tokenizer.json takes longer than 5 s for one text`,
        );
      }),
    ),
  );
});

/** The status of one request; null where the connection was closed without an answer. */
const statusOf = (port: number, path: string, headers: Readonly<Record<string, string>>, body?: string) =>
  Effect.promise(
    () =>
      new Promise<number | null>((resolve) => {
        const outgoing = request({ port, path, headers, method: body === undefined ? "GET" : "POST" }, (answer) => {
          answer.resume();
          answer.on("end", () => resolve(answer.statusCode ?? null));
        });
        outgoing.on("error", () => resolve(null));
        outgoing.end(body);
      }),
  );

const serving = Effect.gen(function* () {
  const words = ["serve-env", "Bandit", "--port", "0", "--max-sessions", "4", "--max-buffered-bytes", "2000000"];
  const server = yield* Trial.millrace(words);
  let port = 0;
  server.child.stdout?.on("data", (text: string) => {
    port ||= Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1] ?? 0);
  });
  yield* Trial.said(server, "Ctrl-C");
  return { server, port };
});

const json = { "content-type": "application/json" };

describe("a served environment", () => {
  it.live("answers no page of the web, and no name that is not its own; its sessions stay free", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port, server } = yield* serving;
        const reset = (headers: Readonly<Record<string, string>>) => statusOf(port, "/reset", headers, "{}");
        for (let time = 0; time < 20; time++) {
          expect(yield* reset({ ...json, origin: "http://evil.example" })).toBe(403);
          expect(yield* reset({ ...json, origin: "null" })).toBe(403);
          expect(yield* reset({ ...json, host: "evil.example" })).toBe(403);
          expect(yield* reset({ "content-type": "text/plain" })).toBe(415);
        }
        expect(yield* reset(json)).toBe(200);
        server.child.kill("SIGTERM");
        expect(yield* Effect.promise(() => server.ended)).toMatchObject({ code: 0 });
      }),
    ),
  );

  it.live("outlives a thousand bodies that never end, and serves on", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port, server } = yield* serving;
        const head = "POST /reset HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        const sockets = Array.from({ length: 1_000 }, () => connect(port, "127.0.0.1"));
        const written = sockets.map(
          (socket) =>
            new Promise<void>((resolve) => {
              // One that is refused is closed, perhaps in the middle of this.
              socket.on("error", () => undefined).on("close", () => resolve());
              socket.write(`${head}content-length: 1000000\r\n\r\n${"x".repeat(100_000)}`, () => resolve());
            }),
        );
        yield* Effect.promise(() => Promise.all(written));
        for (const socket of sockets) socket.destroy();
        expect(yield* statusOf(port, "/reset", json, "{}")).toBe(200);
        expect(server.child.exitCode).toBeNull();
      }),
    ),
  );
});
