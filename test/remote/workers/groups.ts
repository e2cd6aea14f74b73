/** Groups of every shape, for the codec and the checks. */
import fc from "fast-check";
import type { Episode, Outcome, Sequence, Turn } from "../../../src/domain/Episode.ts";
import type { Group } from "../../../src/domain/Group.ts";
import { agentCall, text } from "../../build/agentCalls.ts";
import { episodeOfTurns, sampledOf, turnOf } from "../../build/episodes.ts";
import { promptOf } from "../../build/groups.ts";

export const prompt = promptOf(7, 2, { tag: "Bandit", seed: 107, admittedAt: 3 });

/** A turn that passes every examination. */
export const plainTurn = turnOf({
  prompt: Int32Array.of(1, 2, 3),
  sampled: sampledOf([4, 5], {
    mu: Float32Array.of(-0.5, -0.25),
    versions: Int32Array.of(3, 4),
    entropies: Float32Array.of(1, 0.5),
  }),
  state: "state",
  reply: "reply",
  actions: ["Up"],
  executed: 1,
  reward: 1,
  info: { success: 1 },
});

export const groupWith = (turn: Turn = plainTurn): Group => {
  const { group, seed, tag } = prompt;
  const episodes = [0, 1].map((member) => episodeOfTurns(group, member, [turn], { tag, seed, final: "end" }));
  return { prompt, episodes };
};

const float32 = fc.float({ noNaN: false });
const id = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

const turn: fc.Arbitrary<Turn> = fc.nat(5).chain((length) =>
  fc.record(
    {
      prompt: fc.int32Array({ maxLength: 6 }).map((ids) => Int32Array.from(ids)),
      sampled: fc.record({
        ids: fc.array(id, { minLength: length, maxLength: length }).map((ids) => Int32Array.from(ids)),
        mu: fc.array(float32, { minLength: length, maxLength: length }).map((values) => Float32Array.from(values)),
        versions: fc.array(id, { minLength: length, maxLength: length }).map((ids) => Int32Array.from(ids)),
        entropies: fc.array(float32, { minLength: length, maxLength: length }).map((all) => Float32Array.from(all)),
        finish: fc.constantFrom("stop" as const, "length" as const),
      }),
      state: text,
      reply: text,
      parsed: fc.boolean(),
      thought: fc.tuple(fc.nat(5), fc.nat(5)),
      actions: fc.array(text, { maxLength: 3 }),
      executed: fc.nat(3),
      reward: fc.double(),
      penalty: fc.double(),
      penalties: fc.record({ format: fc.double(), step: fc.double() }, { requiredKeys: [] }),
      info: fc.dictionary(text, fc.double(), { maxKeys: 3 }),
      call: agentCall,
    },
    {
      requiredKeys: [
        "prompt",
        "sampled",
        "state",
        "reply",
        "parsed",
        "actions",
        "executed",
        "reward",
        "penalty",
        "info",
      ],
    },
  ),
);

const sequence: fc.Arbitrary<Sequence> = fc.record(
  { turns: fc.array(turn, { maxLength: 3 }), summary: fc.record({ trained: fc.boolean() }) },
  { requiredKeys: ["turns"] },
);

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ _tag: fc.constant("Done" as const), success: fc.boolean() }),
  fc.record({
    _tag: fc.constant("Truncated" as const),
    reason: fc.constantFrom("environment" as const, "max_actions" as const, "context" as const),
    success: fc.boolean(),
  }),
  fc.record({ _tag: fc.constant("Failed" as const), reason: fc.constant("step_error" as const), message: text }),
);

type Drawn = Pick<Episode, "seed" | "sequences" | "discarded" | "outcome" | "final">;
const episode: fc.Arbitrary<Drawn> = fc.record(
  {
    seed: fc.maxSafeInteger(),
    sequences: fc.array(sequence, { maxLength: 3 }),
    discarded: fc.array(turn, { maxLength: 2 }),
    outcome,
    final: text,
  },
  { requiredKeys: ["seed", "sequences", "outcome"] },
);

/** Any group of `prompt`, even one that no learner would accept. */
export const anyGroup: fc.Arbitrary<Group> = fc
  .record(
    {
      episodes: fc.array(episode, { maxLength: 3 }),
      contentKey: fc.string({ unit: "grapheme" }),
      heldOut: fc.constant(true as const),
    },
    { requiredKeys: ["episodes"] },
  )
  .map(({ episodes, ...rest }) => ({
    prompt,
    episodes: episodes.map((each, member) => ({ id: { group: prompt.group, member }, tag: prompt.tag, ...each })),
    ...rest,
  }));
