/** The set-up of docs/remote.md, "Workers on NATS", executed block by block as it is written there. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { newestIn } from "../../chaos/Trial.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { endGroup } from "../processes.ts";
import { countGroups, lastRecord, listening } from "./support.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** The shell blocks of the section, by their names. */
const blocks = (): ReadonlyMap<string, string> => {
  const text = readFileSync(join(root, "docs", "remote.md"), "utf8");
  const section = text.slice(text.indexOf("## Workers on NATS"));
  return new Map(
    [...section.matchAll(/```sh name=(\w+)\n([\s\S]*?)```/g)].map(([, name = "", body = ""]) => [name, body]),
  );
};

interface Shell {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>;
}

/** Runs a block in a shell whose `millrace` is this checkout's; ends with the scope, with all that it started. */
const shell = (folder: string, body: string) =>
  Effect.acquireRelease(
    Effect.sync((): Shell => {
      const path = `${join(folder, "bin")}:${process.env.PATH}`;
      const child = spawn("bash", ["-euc", body], { cwd: folder, env: { ...process.env, PATH: path }, detached: true });
      let said = "";
      for (const output of [child.stdout, child.stderr]) {
        output?.setEncoding("utf8").on("data", (text: string) => {
          said += text;
        });
      }
      return { child, ended: new Promise((resolve) => child.on("close", (code) => resolve({ code, said }))) };
    }),
    // Processes that the shell has started have no other parent.
    ({ child, ended }) => Effect.promise(() => endGroup(child).then(() => ended)),
  );

describe("docs/remote.md", () => {
  it.live("sets workers up on NATS", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      mkdirSync(join(folder, "bin"));
      const program = join(folder, "bin", "millrace");
      writeFileSync(
        program,
        `#!/bin/sh\nexec "${process.execPath}" "${join(root, "pipelines", "millrace.mjs")}" "$@"\n`,
      );
      chmodSync(program, 0o755);
      const named = blocks();
      const block = (name: string): string => named.get(name) ?? `echo "no block ${name}"; exit 9`;

      const secrets = yield* shell(folder, block("secrets"));
      expect(yield* Effect.promise(() => secrets.ended)).toEqual({ code: 0, said: "" });
      const broker = yield* shell(folder, block("broker"));
      yield* listening(4_233);
      const first = yield* shell(folder, block("worker"));
      yield* shell(folder, block("worker").replaceAll("w1", "w2").replaceAll("W1", "W2"));
      const learner = yield* shell(folder, block("learner"));
      const { code, said } = yield* Effect.promise(() => learner.ended);
      expect({ code, said: code === 0 ? "" : said }).toEqual({ code: 0, said: "" });
      const worker = yield* Effect.promise(() => first.ended);
      expect(worker.code, worker.said).toBe(0);
      // It was this broker, and no other that listens there.
      expect(broker.child.exitCode).toBeNull();
      const run = newestIn(join(folder, "runs", "bandit")) ?? folder;
      expect(countGroups(run)).toBe(160);
      expect(lastRecord(run)["workers/results"]).toBe(160);
      // No secret is written down but where it was put.
      const token = /MILLRACE_TOKEN=(\S+)/.exec(readFileSync(join(folder, "secrets.sh"), "utf8"))?.[1] ?? "";
      expect(readFileSync(join(run, "config.yaml"), "utf8")).not.toContain(token);
      expect(said).not.toContain(token);
    }),
  );
});
