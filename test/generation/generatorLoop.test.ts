import { describe, expect, it } from "vitest";
import { concat, idsOf, loopOn, reply, requestOf, score, withModel } from "./support.ts";

/** mu of the reply that ends `history` against full scoring. */
const difference = async (history: Int32Array, mu: Float32Array, version = 0): Promise<number> => {
  const logp = await score(history, version);
  const start = history.length - mu.length - 1;
  return mu.reduce((worst, value, t) => Math.max(worst, Math.abs(value - logp[start + t]!)), 0);
};

describe("GeneratorLoop", () => {
  it("gives the log-probabilities of full scoring over several turns, with others joining meanwhile", () =>
    withModel(async (model) => {
      const loop = loopOn(model);
      const play = async (id: number): Promise<void> => {
        let history: Int32Array = new Int32Array();
        for (let turn = 0; turn < 3; turn++) {
          const append = idsOf(3 + 17 * turn + id, id, turn);
          const sampled = await reply(loop, requestOf(id, append, { maxTokens: 5 + 3 * id }));
          expect(sampled.ids).toHaveLength(5 + 3 * id);
          history = concat(history, append, sampled.ids);
          expect(await difference(history, sampled.mu)).toBeLessThan(1e-4);
        }
        loop.release(id);
      };
      await Promise.all(Array.from({ length: 6 }, (_, id) => play(id)));
      expect(loop.gauges()).toMatchObject({ active: 0, idle: 0, refedTokens: 0, threads: { queue: 0 } });
    }));

  it("opens sequences on a shared prefix that is fed once", () =>
    withModel(async (model) => {
      const loop = loopOn(model);
      const prefix = idsOf(37, 99);
      await Promise.all(
        Array.from({ length: 5 }, async (_, id) => {
          const append = concat(prefix, idsOf(4 + id, id));
          const sampled = await reply(loop, requestOf(id, append, { sharedPrefix: 37 }));
          expect(await difference(concat(append, sampled.ids), sampled.mu)).toBeLessThan(1e-4);
        }),
      );
      expect(loop.gauges().prefilledTokens).toBe(37 + 4 + 5 + 6 + 7 + 8);
    }));

  it("evicts idle sequences for waiting ones and feeds them again when they return", () =>
    withModel(async (model) => {
      const loop = loopOn(model, { slots: 2 });
      const histories: Int32Array[] = [];
      for (let turn = 0; turn < 2; turn++) {
        await Promise.all(
          Array.from({ length: 5 }, async (_, id) => {
            const append = idsOf(20, id, turn);
            const sampled = await reply(loop, requestOf(id, append));
            histories[id] = concat(histories[id] ?? new Int32Array(), append, sampled.ids);
            expect(await difference(histories[id], sampled.mu)).toBeLessThan(1e-4);
          }),
        );
      }
      // Three of five had lost their rows; 20 + 11 tokens had been fed of each (a reply's last token not yet).
      expect(loop.gauges().refedTokens).toBe(3 * 31);
    }));

  it("moves a sequence into rows that its cache did not have, when it decodes at once behind a shared prefix", () =>
    withModel(async (model) => {
      const prompt = idsOf(20, 1);
      const shared = (id: number) => requestOf(id, prompt, { sharedPrefix: prompt.length, maxTokens: 30 });
      const alone = await reply(loopOn(model, { slots: 32 }), shared(1));
      const loop = loopOn(model, { slots: 32, prefillRows: 100, prefillPatience: 1000 });
      const first = reply(loop, shared(0));
      while (loop.gauges().sampledTokens < 3) await new Promise<void>((resolve) => setImmediate(resolve));
      // These have the rows in between and wait for their prefill until nobody decodes.
      const others = Array.from({ length: 9 }, (_, id) =>
        reply(loop, requestOf(10 + id, idsOf(20, id), { maxTokens: 1 })),
      );
      expect((await reply(loop, shared(1))).ids).toEqual(alone.ids);
      await Promise.all([first, ...others]);
    }));

  it("moves sequences together when most of their neighbours have gone, without a change in what they sample", () =>
    withModel(async (model) => {
      const sizes: number[] = [];
      const loop = loopOn({
        ...model,
        step: (weights, ids, past, pasts) => {
          sizes.push(ids.length);
          return model.step(weights, ids, past, pasts);
        },
      });
      const prompts = Array.from({ length: 16 }, (_, id) => idsOf(10 + id, id));
      const stays = (id: number): boolean => id % 5 === 0;
      const sampled = await Promise.all(
        prompts.map((prompt, id) => reply(loop, requestOf(id, prompt, { maxTokens: stays(id) ? 40 : 6 }))),
      );
      // 0, 5, 10 and 15 stay: first among sixteen rows, then together in eight.
      expect(sizes).toContain(16);
      expect(sizes.at(-1)).toBe(8);
      for (const [id, prompt] of prompts.entries())
        if (stays(id)) expect(await difference(concat(prompt, sampled[id]!.ids), sampled[id]!.mu)).toBeLessThan(1e-4);
      const after = await reply(loop, requestOf(7, idsOf(5, 70)));
      const history = concat(prompts[7]!, sampled[7]!.ids, idsOf(5, 70), after.ids);
      expect(await difference(history, after.mu)).toBeLessThan(1e-4);
    }));

  it("samples the same bits alone and among others", () =>
    withModel(async (model) => {
      const turns = async (others: number): Promise<readonly { ids: Int32Array; mu: Float32Array }[]> => {
        const loop = loopOn(model);
        const results = [];
        for (let turn = 0; turn < 3; turn++) {
          const crowd = Array.from({ length: others }, (_, i) =>
            reply(loop, requestOf(i + 1, idsOf(9 + 16 * i, i, turn), { maxTokens: 8 + 5 * i })),
          );
          const followed = await reply(loop, requestOf(0, idsOf(40, 0, turn), { maxTokens: 30 }));
          await Promise.all(crowd);
          results.push({ ids: followed.ids, mu: followed.mu });
        }
        return results;
      };
      const alone = await turns(0);
      expect(await turns(1)).toEqual(alone);
      expect(await turns(7)).toEqual(alone);
    }));
});
