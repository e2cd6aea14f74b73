/** Results that are read on a thread: the same groups as in the caller's, however many come at once. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as GroupCodec from "../../../src/remote/workers/GroupCodec.ts";
import * as ResultReader from "../../../src/remote/workers/reading/ResultReader.ts";
import { reachConfig } from "../../build/config.ts";
import { groupWith, plainTurn, prompt } from "./groups.ts";

const rules = { limits: reachConfig().rollout, vocabulary: 10 };
const good = groupWith();
const strange = groupWith({ ...plainTurn, prompt: Int32Array.of(99) });
const old = groupWith({ ...plainTurn, sampled: { ...plainTurn.sampled, versions: Int32Array.of(2, 3) } });

describe("results of workers", () => {
  it.live("are groups with the same numbers, or named flaws, in whatever order they come", () =>
    Effect.gen(function* () {
      const { read } = yield* ResultReader.make(rules);
      const [right, wrong, stale] = yield* Effect.forEach([good, strange, old], GroupCodec.encode);
      const sent = [right, wrong, stale, Uint8Array.of(1, 2, 3), right].map((bytes = new Uint8Array()) => ({
        bytes,
        prompt,
        newestVersion: 4,
      }));
      // Twenty lots, more than go to the thread together.
      const many = Array.from({ length: 20 }, () => sent).flat();
      const found = yield* Effect.forEach(many, read, { concurrency: "unbounded" });
      const kinds = found.map((each) => (each._tag === "Group" ? "group" : each.flaw.kind));
      expect(kinds).toEqual(Array.from({ length: 20 }, () => ["group", "refused", "stale", "refused", "group"]).flat());
      expect(found[0]).toEqual({ _tag: "Group", group: good });
      expect(found).toEqual(yield* Effect.forEach(many, ResultReader.readInThisThread(rules)));
    }).pipe(Effect.scoped),
  );

  it.live("are left where they lie: others look at the same bytes", () =>
    Effect.gen(function* () {
      const { read } = yield* ResultReader.make(rules);
      const bytes = yield* GroupCodec.encode(good);
      const chunk = Buffer.concat([Buffer.from("before"), bytes, bytes]);
      const [first, second] = [chunk.subarray(6, 6 + bytes.length), chunk.subarray(6 + bytes.length)];
      const found = yield* Effect.forEach([first, second], (each) => read({ bytes: each, prompt, newestVersion: 4 }), {
        concurrency: "unbounded",
      });
      expect(found.map(({ _tag }) => _tag)).toEqual(["Group", "Group"]);
      expect(chunk.toString("utf8", 0, 6)).toBe("before");
    }).pipe(Effect.scoped),
  );

  it.live("end the run where they cannot be read at all: nobody waits without an end", () =>
    Effect.gen(function* () {
      const { died, read } = yield* ResultReader.make(rules);
      const bytes = yield* GroupCodec.encode(good);
      yield* Effect.forkChild(read({ bytes, prompt: null as never, newestVersion: 4 }), { startImmediately: true });
      expect((yield* Effect.flip(died)).message).toContain("results of workers cannot be read");
    }).pipe(Effect.scoped),
  );
});
