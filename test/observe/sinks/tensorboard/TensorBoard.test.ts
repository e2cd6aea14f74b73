import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { describe, expect } from "vitest";
import type { EpisodeRecord } from "../../../../src/domain/EpisodeRecord.ts";
import { recordsOf } from "../../../../src/observe/record/episodeRecords.ts";
import * as TensorBoard from "../../../../src/observe/sinks/tensorboard/TensorBoard.ts";
import { LONGEST_MARKDOWN, markdownTranscript, plainTranscript } from "../../../../src/observe/sinks/transcript.ts";
import { agentEpisode, agentPieces } from "../../../build/agentEpisodes.ts";
import { groupOfEpisodes } from "../../../build/groups.ts";
import { episodeRecord, stepRecord, turnRecord } from "../../../build/records.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";
import { run } from "../fixtures.ts";
import { fieldsOf, framesOf, inner, one, text, valuesOf } from "./reader.ts";

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(folder, "tensorboard")).map((name) => join(folder, "tensorboard", name));
const written = (folder: string): Buffer => readFileSync(filesIn(folder)[0] ?? "");

/** An episode of two tokens. */
const episode = (changes: Partial<EpisodeRecord> = {}): EpisodeRecord =>
  episodeRecord({
    step: 1,
    group: 7,
    seed: 3,
    success: true,
    reward: 1,
    outcome: { _tag: "Done", success: true },
    verdict: "kept",
    messages: [
      { role: "user", content: "#P_O" },
      { role: "assistant", content: "<answer>Up</answer>" },
    ],
    turns: [turnRecord(["Up", "!"], { advantages: [0.5, -1.5] })],
    ...changes,
  });

describe("the sink for TensorBoard", () => {
  it.effect("writes a file that says its version first, then the run file as text at step 0", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const sink = TensorBoard.make();
      yield* sink.open({ ...run, folder });
      expect(filesIn(folder)[0]).toMatch(/events\.out\.tfevents\.1000\..+\.\d+\.0$/);
      const [first] = framesOf(written(folder));
      expect(text(first!, 3)).toBe("brain.Event:2");
      const [config] = valuesOf(written(folder));
      expect(config).toMatchObject({ step: 0, time: 1000, tag: "run" });
      expect(text(inner(config!.value, 8), 8)).toContain('"name": "quickstart"');
      expect(text(inner(inner(config!.value, 9), 1), 1)).toBe("text");
      yield* sink.close({ _tag: "Completed" });
    }),
  );

  it.effect("has every metric of a step on the disk when the step is told, described once", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const sink = TensorBoard.make();
      yield* sink.open({ ...run, folder });
      const metrics = { "train/success": 0.25, "weights/version": 3, "stage/rollout/busy": 0.5 };
      yield* sink.step(stepRecord(1, metrics));
      yield* sink.step(stepRecord(2, { "train/success": 0.75 }));
      const found = valuesOf(written(folder)).filter(({ tag }) => tag !== "run" && !tag.startsWith("_hparams_/"));
      expect(found.map(({ step, tag, time, value }) => [step, time, tag, one(value, 2)])).toEqual([
        [1, 1003, "train/success", 0.25],
        [1, 1003, "weights/version", 3],
        [1, 1003, "stage/rollout/busy", 0.5],
        [2, 1006, "train/success", 0.75],
      ]);
      expect(text(inner(found[0]!.value, 9), 3)).toBe("Episodes that succeeded. Unit: share.");
      expect(text(inner(inner(found[0]!.value, 9), 1), 1)).toBe("scalars");
      expect(one(found[3]!.value, 9)).toBeUndefined();
      yield* sink.close({ _tag: "Completed" });
    }),
  );

  it.effect("says the run's keys, what to compare by and how it ended, as the HPARAMS tab reads them", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const sink = TensorBoard.make();
      const config = { actor: { lr: 0.5, shuffle: false, betas: [0.9, 0.99] }, metrics: { console: "off" } };
      yield* sink.open({ ...run, folder, config });
      yield* sink.close({ _tag: "Failed", message: "no" });
      const values = valuesOf(written(folder)).filter(({ tag }) => tag.startsWith("_hparams_/"));
      expect(values.map(({ tag }) => tag.split("/")[1])).toEqual([
        "experiment",
        "session_start_info",
        "session_end_info",
      ]);
      const data = values.map(({ value }) => inner(inner(inner(value, 9), 1), 2));
      const experiment = fieldsOf(inner(data[0]!, 2));
      expect((experiment.get(4) ?? []).map((info) => [text(info as Buffer, 1), one(info as Buffer, 4)])).toEqual([
        ["actor.lr", 3],
        ["actor.shuffle", 2],
        ["actor.betas", 1],
      ]);
      expect((experiment.get(5) ?? []).map((info) => text(inner(info as Buffer, 1), 2))).toEqual([
        "val-env/success",
        "val-env/charts/avg_episode_return",
      ]);
      const [lr, shuffle, betas] = (fieldsOf(inner(data[1]!, 3)).get(1) ?? []).map((entry) =>
        inner(entry as Buffer, 2),
      );
      expect([one(lr!, 2), one(shuffle!, 4), text(betas!, 3)]).toEqual([0.5, 0, "[0.9,0.99]"]);
      expect(one(inner(data[2]!, 4), 1)).toBe(2);
    }),
  );

  it.effect("opens a file of its own after a resume, and makes readers forget the steps to come", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const [before, after] = [TensorBoard.make(), TensorBoard.make()];
      yield* before.open({ ...run, folder });
      yield* before.close({ _tag: "Stopped", reason: "interrupted" });
      yield* after.open({ ...run, folder, from: 40, started: run.started + 60_000 });
      yield* after.close({ _tag: "Completed" });
      const [, second] = filesIn(folder).toSorted();
      const [, restart] = framesOf(readFileSync(second!));
      expect(one(restart!, 2)).toBe(41);
      expect(one(inner(restart!, 7), 1)).toBe(1);
    }),
  );

  it.effect("never writes into a file that is there", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      for (let start = 0; start < 2; start++) {
        const sink = TensorBoard.make();
        yield* sink.open({ ...run, folder });
        yield* sink.close({ _tag: "Completed" });
      }
      expect(filesIn(folder)).toHaveLength(2);
    }),
  );

  it.effect("shows sampled episodes as text and their advantages as a histogram", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const sink = TensorBoard.make();
      yield* sink.open({ ...run, folder });
      const records = Array.from({ length: 6 }, (_, member) => episode({ member }));
      yield* sink.episodes?.([...records, episode({ split: "val", step: 2 })]) ?? Effect.void;
      const found = valuesOf(written(folder)).filter(({ tag }) => tag !== "run" && !tag.startsWith("_hparams_/"));
      expect(found.map(({ step, tag }) => `${step} ${tag}`)).toEqual([
        ...[0, 1, 2, 3].map((i) => `1 episodes/train/${i}`),
        "1 distribution/advantages/sampled_tokens",
        "2 episodes/val/0",
        "2 distribution/advantages/sampled_tokens",
      ]);
      const histogram = inner(found[4]!.value, 5);
      expect([1, 2, 3, 4].map((field) => one(histogram, field))).toEqual([-1.5, 0.5, 12, -6]);
      yield* sink.close({ _tag: "Completed" });
    }),
  );

  it.effect("says which folder it cannot write to", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      writeFileSync(join(folder, "tensorboard"), "in the way");
      const error = yield* Effect.flip(TensorBoard.make().open({ ...run, folder }));
      expect(error.message).toContain(join(folder, "tensorboard"));
    }),
  );
});

describe("a transcript", () => {
  it("fences what was said so that its text cannot close the fence", () => {
    const shown = markdownTranscript(episode({ messages: [{ role: "user", content: "a\n```\nb" }] }));
    expect(shown).toContain("````\na\n```\nb\n````");
    expect(shown).toContain("**SimpleSokoban** seed 3, group 7, member 0 · success · reward 1 · done · verdict kept");
  });

  it("ends with the state after the last turn, where the record tells it", () => {
    expect(markdownTranscript(episode({ final: "#_√#" }))).toMatch(/\*\*state at the end\*\*\n\n```\n#_√#\n```$/);
    expect(markdownTranscript(episode())).not.toContain("at the end");
  });

  it("names the calls of an agent, and says where they belong", () => {
    const records = recordsOf({ step: 1, split: "val" }, groupOfEpisodes(1, [agentEpisode()]), null, agentPieces);
    const titles = [...plainTranscript(records).matchAll(/^\[(.*)\]$/gm)].map(([, title]) => title);
    expect(titles).toEqual([
      ...["system", "user", "reply of call 2", "tool", "tool", "user", "reply of call 4, behind call 2"],
      ...["tool", "reply of call 5, behind call 4", "system", "user", "reply of call 7, begun anew: compaction"],
      ...["tool", "tool", "user", "reply of call 6, behind call 2"],
      ...["system", "user", "reply of call 1, not trained", "system", "user", "reply of call 3, not trained"],
    ]);
    expect(markdownTranscript(records[0]!)).toContain("**reply of call 4, behind call 2**");
  });

  it("is cut where it is long, and says so", () => {
    const shown = markdownTranscript(
      episode({ messages: [{ role: "user", content: "x".repeat(LONGEST_MARKDOWN + 1) }] }),
    );
    expect(shown.length).toBeLessThan(LONGEST_MARKDOWN + 500);
    expect(shown).toContain("*cut here*");
  });
});
