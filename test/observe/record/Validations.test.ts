/** The lines of validations.jsonl. */
import { readFileSync } from "node:fs";
import { expect, it } from "@effect/vitest";
import { Effect } from "effect";
import type { Group } from "../../../src/domain/Group.ts";
import * as RunFolder from "../../../src/observe/record/RunFolder.ts";
import * as Validations from "../../../src/observe/record/Validations.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

/** A group of an episode that succeeded. */
const group = (id: number, tag: string, contentKey?: string): Group => ({
  prompt: { group: id, tag, seed: id, size: 1, admittedAt: 0 },
  episodes: [{ id: { group: id, member: 0 }, tag, seed: id, sequences: [], outcome: { _tag: "Done", success: true } }],
  ...(contentKey === undefined ? {} : { contentKey }),
});

it.live("name one instance for the seeds of a preset that have the same content", () =>
  Effect.gen(function* () {
    const folder = yield* RunFolder.create(yield* temporaryFolder, "lake", "");
    const groups = [
      group(0, "Lake", "a"),
      group(1, "Lake", "a"),
      group(2, "Lake", "b"),
      group(3, "Pond", "a"),
      group(4, "Lake"),
    ];
    yield* Validations.append(folder, 7, { version: 7, groups });
    const { instances, ...line } = JSON.parse(readFileSync(folder.validations, "utf8"));
    expect(line).toEqual({ step: 7, version: 7, success: [1, 1, 1, 1, 1] });
    expect(instances.map((each: unknown) => instances.indexOf(each))).toEqual([0, 0, 2, 3, 4]);
    expect(instances[4]).toBeNull();
  }),
);
