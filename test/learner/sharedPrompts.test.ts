/** Sequences of a group that share the text they begin with: how they are cut, and that nothing they come to changes. */
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { boundsOf, lengthOf } from "../../src/domain/Batch.ts";
import { positionsOf, sharedPassesOf } from "../../src/domain/Passes.ts";
import { Actor } from "../../src/learner/Actor.ts";
import { Critic, criticFrom } from "../../src/learner/Critic.ts";
import { Lanes } from "../../src/learner/lanes/Lanes.ts";
import { sharedMicroBatches } from "../../src/learner/sharedPrompts.ts";
import { creditedBatch } from "../build/batches.ts";
import { assertProperty } from "../property.ts";
import { actorDefaults, algorithmDefaults, criticDefaults, tiny, tinyParameters } from "./model.ts";

const lengths = [40, 33, 52, 60, 35, 47, 36, 58, 41, 38];
const batch = creditedBatch({ seed: 5, lengths, vocabulary: tiny.vocabSize, prompt: 30 });
const all = lengths.map((_, i) => i);

describe("the passes over families", () => {
  const family = fc.record({
    prompt: fc.integer({ min: 1, max: 300 }),
    continuations: fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 9 }),
  });

  it("hold every sequence once, in room for it, within the budget unless one alone is beyond it", () =>
    assertProperty(
      fc.property(fc.array(family, { maxLength: 9 }), fc.integer({ min: 16, max: 2000 }), (families, tokens) => {
        const passes = sharedPassesOf(families, tokens);
        const placed = passes.flatMap(({ groups }) =>
          groups.flatMap(({ family, members }) => members.map((member) => `${family} ${member}`)),
        );
        const each = families.flatMap(({ continuations }, i) => continuations.map((_, member) => `${i} ${member}`));
        expect(placed.toSorted()).toEqual(each.toSorted());
        for (const pass of passes) {
          expect(positionsOf(pass) <= tokens || (pass.groups.length === 1 && pass.members === 1)).toBe(true);
          for (const { family, members } of pass.groups) {
            expect(members.length).toBeLessThanOrEqual(pass.members);
            expect(families[family]!.prompt).toBeLessThanOrEqual(pass.prompt);
            for (const member of members)
              expect(families[family]!.continuations[member]).toBeLessThanOrEqual(pass.time);
          }
        }
      }),
    ));
});

describe("micro-batches with shared prompts", () => {
  const micros = sharedMicroBatches(batch, all, 400);

  it("have each group's prompt once where it fits", () => {
    const [whole] = sharedMicroBatches(batch, all, 4096);
    expect(whole?.size).toEqual({ groups: 3, prompt: 32, members: 4, time: 32 });
    expect(Array.from(whole?.lengths ?? [], Number)).toEqual([30, 30, 30]);
  });

  it("have every trained token for a target, behind the token before it", () => {
    expect(micros.length).toBeGreaterThan(1);
    const positions = micros.flatMap(({ targets }) => [...targets.positions]);
    const trained = all.flatMap((sequence) => {
      const [from] = boundsOf(batch, sequence);
      return Array.from({ length: lengthOf(batch, sequence) }, (_, t) => from + t).filter(
        (position) => position > from && batch.mask[position] === 1,
      );
    });
    expect(positions.toSorted((a, b) => a - b)).toEqual(trained);
    for (const { ids, prompts, targets, tokens } of micros) {
      const rows = [...prompts, ...ids].map(Number);
      for (const [target, position] of targets.positions.entries()) {
        expect(rows[Number(targets.before[target])]).toBe(batch.ids[position - 1]);
        expect(Number(tokens[target])).toBe(batch.ids[position]);
      }
    }
  });

  it("share nothing that one of the sequences is trained on", () => {
    const mask = batch.mask.slice();
    mask[10] = 1;
    const [first] = sharedMicroBatches({ ...batch, mask }, [0, 1, 2, 3], 4096);
    expect(Array.from(first?.lengths ?? [], Number)).toEqual([10]);
  });

  it("keep sequences apart that begin with different tokens", () => {
    const ids = batch.ids.slice();
    ids[0] = (ids[0]! + 1) % tiny.vocabSize;
    const [first] = sharedMicroBatches({ ...batch, ids }, [0, 1], 4096);
    expect(first?.size).toMatchObject({ groups: 2, members: 1 });
  });
});

describe("an update", () => {
  const lanes = Lanes.open(1, 1);
  afterAll(async () => (await lanes)[Symbol.asyncDispose]());

  const close = (actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void => {
    const scale = Math.max(...Array.from(expected, Math.abs));
    expect(scale).toBeGreaterThan(0);
    const worst = Math.max(...Array.from(expected, (value, i) => Math.abs(value - actual[i]!)));
    expect(worst / scale).toBeLessThan(tolerance);
  };

  const actors = (checkpointing: boolean | "attention") =>
    Promise.all(
      [false, true].map(async (use_prefix_grouper) =>
        Actor.open(tiny, tinyParameters(), {
          actor: {
            ...actorDefaults,
            micro_batch_tokens: 400,
            gradient_checkpointing: checkpointing,
            use_prefix_grouper,
          },
          algorithm: algorithmDefaults,
          lanes: await lanes,
        }),
      ),
    );

  it.each([
    ["all activations kept", false],
    ["attention computed again", "attention"],
    ["layers computed again", true],
  ] as const)("has the same gradients and log-probabilities, %s", async (_, checkpointing) => {
    const targets = {
      old: batch.mu,
      advantages: batch.advantages,
      importance: Float32Array.from(batch.mask),
      reference: undefined,
    };
    const results = [];
    for (const actor of await actors(checkpointing)) {
      const logp = new Float32Array(batch.ids.length);
      const gradient = await actor.gradient(batch, all, targets, logp);
      results.push({ logp, scored: await actor.score(batch), gradients: gradient?.gradients ?? [] });
    }
    const [apart, shared] = results;
    close(shared!.logp, apart!.logp, 1e-5);
    close(shared!.scored, apart!.scored, 1e-5);
    expect(shared!.gradients.length).toBe(apart!.gradients.length);
    for (const [i, gradient] of apart!.gradients.entries()) close(shared!.gradients[i]!, gradient, 1e-4);
  });

  it("has the same values and the same gradients of a critic", async () => {
    const results = [];
    for (const use_prefix_grouper of [false, true]) {
      const parameters = criticFrom(tiny, tinyParameters());
      // a head of zeros would let no gradient through
      parameters.tensors.at(-2)?.forEach((_, i, head) => {
        head[i] = Math.sin(i);
      });
      const critic = await Critic.open(tiny, parameters, {
        critic: criticDefaults,
        actor: { ...actorDefaults, micro_batch_tokens: 400, use_prefix_grouper },
        lanes: await lanes,
      });
      const gradient = await critic.gradient(batch, all, new Float32Array(batch.ids.length));
      results.push({ values: await critic.values(batch), gradients: gradient?.gradients ?? [] });
    }
    const [apart, shared] = results;
    close(shared!.values, apart!.values, 1e-5);
    for (const [i, gradient] of apart!.gradients.entries()) close(shared!.gradients[i]!, gradient, 1e-4);
  });
});
