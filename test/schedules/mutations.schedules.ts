/** Faults in the engine that exploration must find, each within a few hundred schedules: a wake-up, a release or an order removed. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { mutations } from "./mutations.ts";

const most = 300;
const fileIn = (name: string): string => join(import.meta.dirname, name);

/** The failure that a search prints with a fault in the engine; empty if it finds none. */
const searchWith = (name: string) =>
  Effect.callback<string>((resume) => {
    const words = ["--import", fileIn("mutate.ts"), fileIn("search.ts"), `${most}`];
    const options = { env: { ...process.env, MILLRACE_MUTATION: name } };
    execFile(process.execPath, words, options, (error, stdout, stderr) =>
      resume(Effect.succeed(error === null || stdout !== "" ? stdout : stderr)),
    );
  });

describe("exploration", () => {
  it.live.each(mutations.map(({ name }) => name))("finds that %s", (name) =>
    Effect.gen(function* () {
      expect(yield* searchWith(name)).toMatch(/^schedule \d+ fails: /);
    }),
  );
});
