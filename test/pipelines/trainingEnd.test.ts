/** `train --resume` refuses some runs before it loads anything. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { checkContinuable } from "../../pipelines/trainingEnd.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { problemsIn } from "../problems.ts";
import { temporaryFolder } from "../temporaryFolder.ts";

it.live("a training does not go on in the folder of a cloning run", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder;
    const record = { step: 2, steps: 3, seconds: 1, loss: 1, heldOutLoss: null, output: "/o", base: null };
    writeFileSync(join(folder, "sft.json"), JSON.stringify({ ...record, end: "stopped", message: "" }));
    const { message } = yield* Effect.flip(checkContinuable(tinyConfig(folder), folder));
    expect(problemsIn(message)).toMatchObject([{ key: "--resume", nearest: `millrace sft --resume ${folder}` }]);
  }),
);
