/** The episode of a fixture folder's generation.json, played by a generator loop over cached turns. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect, Schema } from "effect";
import type { Sampled } from "../../src/domain/Episode.ts";
import { GeneratorLoop } from "../../src/generation/GeneratorLoop.ts";
import { open } from "../../src/generation/OnnxModel.ts";
import type { Sampling } from "../../src/generation/Policy.ts";
import { readModelConfig, readWeights } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import { fullPayload } from "../../src/model/weights/Weights.ts";
import { loopOptions, reply, requestOf } from "./support.ts";

const Ids = Schema.Array(Schema.Number);
const Episode = Schema.Struct({
  /** Ids that each turn appends, [turns, ids]. */
  appended: Schema.Array(Ids),
  /** Ids of each reply. */
  replied: Schema.Number,
});

/** The replies of all turns to a folder's episode. */
export const playTurns = async (folder: string, sampling: Sampling): Promise<readonly Sampled[]> => {
  const json: unknown = JSON.parse(await readFile(join(folder, "generation.json"), "utf8"));
  const { appended, replied } = Schema.decodeUnknownSync(Episode)(json);
  const model = await Effect.runPromise(readModelConfig(folder));
  const { parameters } = await Effect.runPromise(readWeights(folder, model));
  const sessions = await open(model.config);
  try {
    const loop = new GeneratorLoop(sessions, { version: 0, payload: fullPayload(parameters.flat) }, loopOptions);
    const replies: Sampled[] = [];
    for (const [turn, ids] of appended.entries()) {
      const key = { seed: 3, purpose: "sampling", counters: [0, turn] } as const;
      replies.push(await reply(loop, requestOf(0, Int32Array.from(ids), { maxTokens: replied, sampling, key })));
    }
    return replies;
  } finally {
    await sessions.close();
  }
};
