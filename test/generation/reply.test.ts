import { describe, expect, it } from "vitest";
import type { LanguageModel } from "../../src/generation/LanguageModel.ts";
import * as StopMatcher from "../../src/model/tokenizer/StopMatcher.ts";
import { concat, idsOf, loopOn, reply, requestOf, tiny, withModel } from "./support.ts";

/** Two letters a token, so that a stop sequence can begin and end inside tokens. */
const bytesOf = (id: number): Uint8Array => new TextEncoder().encode(`${"abcdefgh"[id % 8]}${"xyzuv"[id % 5]}`);
const textOf = (ids: Int32Array): string =>
  new TextDecoder().decode(Uint8Array.from([...ids].flatMap((id) => [...bytesOf(id)])));

describe("a reply", () => {
  it("ends with the first stop sequence of the run or the request in its bytes, whose tokens it keeps", () =>
    withModel(async (model) => {
      const free = await reply(loopOn(model), requestOf(0, idsOf(8), { maxTokens: 20 }));
      const stop = textOf(free.ids).slice(9, 12);
      const ofRun = loopOn(model, { stops: StopMatcher.matchers([stop], bytesOf) });
      const ofRequest = loopOn(model, { stops: StopMatcher.matchers([], bytesOf) });
      const stopped = await reply(ofRun, requestOf(0, idsOf(8), { maxTokens: 20 }));
      expect(await reply(ofRequest, requestOf(0, idsOf(8), { maxTokens: 20, stop: [stop] }))).toEqual(stopped);
      const end = textOf(free.ids).indexOf(stop) + stop.length;
      expect(stopped.finish).toBe("stop");
      expect(stopped.ids).toEqual(free.ids.slice(0, Math.ceil(end / 2)));
      expect(stopped.mu).toEqual(free.mu.slice(0, stopped.ids.length));
    }));

  it("ends with an end id, which it keeps", () =>
    withModel(async (model) => {
      const free = await reply(loopOn(model), requestOf(0, idsOf(8)));
      const stopped = await reply(loopOn(model, { stopIds: [free.ids[5]!] }), requestOf(0, idsOf(8)));
      expect(stopped.finish).toBe("stop");
      expect(stopped.ids).toEqual(free.ids.slice(0, free.ids.indexOf(free.ids[5]!) + 1));
    }));

  it("ends at its token limit and at the model's last position", () =>
    withModel(async (model) => {
      const loop = loopOn(model);
      expect(await reply(loop, requestOf(0, idsOf(8), { maxTokens: 3 }))).toMatchObject({ finish: "length" });
      const long = await reply(loop, requestOf(1, idsOf(tiny.maxPositions - 4), { maxTokens: 30 }));
      expect(long.finish).toBe("length");
      expect(long.ids).toHaveLength(4);
    }));

  it("goes on after a cut as if it had not been cut, its stream aside", () =>
    withModel(async (model) => {
      const greedy = { sampling: { temperature: 0, topK: -1, topP: 1 } };
      const whole = await reply(loopOn(model), requestOf(0, idsOf(8), { ...greedy, maxTokens: 10 }));
      const loop = loopOn(model);
      const first = await reply(loop, requestOf(0, idsOf(8), { ...greedy, maxTokens: 4 }));
      const second = await reply(loop, requestOf(0, new Int32Array(), { ...greedy, maxTokens: 6 }));
      expect(concat(first.ids, second.ids)).toEqual(whole.ids);
    }));

  it("leaves no trace when it is cancelled: the next one is as if it had never been asked for", () =>
    withModel(async (model) => {
      const twice = async (cancelled: boolean): Promise<Int32Array> => {
        let steps = 0;
        const watched: typeof model = {
          ...model,
          step: (...given) => {
            if (cancelled && ++steps === 15) loop.cancel(0);
            return model.step(...given);
          },
        };
        const loop = loopOn(watched);
        await reply(loop, requestOf(0, idsOf(8)));
        if (cancelled) {
          loop.generate(requestOf(0, idsOf(5, 1)), {
            done: () => expect.unreachable(),
            fail: () => expect.unreachable(),
          });
          await loop.whenIdle();
        }
        return (await reply(loop, requestOf(0, idsOf(6, 2)))).ids;
      };
      expect(await twice(true)).toEqual(await twice(false));
    }));

  it("frees its slot when its sequence is cancelled while opening or released", () =>
    withModel(async (model) => {
      const loop = loopOn(model, { slots: 1 });
      loop.generate(requestOf(0, idsOf(8), { maxTokens: 400 }), { done: () => expect.unreachable(), fail: () => {} });
      const waiting = reply(loop, requestOf(1, idsOf(8)));
      loop.cancel(0);
      expect((await waiting).ids).toHaveLength(12);
      loop.release(1);
      loop.release(1);
      expect(loop.gauges()).toMatchObject({ active: 0, idle: 0, threads: { queue: 0 } });
    }));

  it("is refused with a reason where the request makes no sense", () =>
    withModel(async (model) => {
      const loop = loopOn(model);
      const refusal = (more: Parameters<typeof requestOf>[2], append = idsOf(4)): Promise<unknown> =>
        expect(reply(loop, requestOf(0, append, more))).rejects.toMatchObject({ failure: { code: "bad_request" } });
      await refusal({ maxTokens: 0 });
      await refusal({ pin: 3 });
      await refusal({}, new Int32Array());
      await refusal({}, Int32Array.of(tiny.vocabSize));
      await refusal({}, new Int32Array(tiny.maxPositions + 1));
      expect(loop.gauges()).toMatchObject({ active: 0, idle: 0, threads: { queue: 0 } });
    }));

  it("fails with all others when a step fails, and so does every later one", () =>
    withModel(async (model) => {
      const broken: LanguageModel<Parameters<typeof model.step>[0]> = {
        ...model,
        step: () => Promise.reject(new Error("the kernel broke")),
      };
      const loop = loopOn(broken);
      const replies = await Promise.allSettled([0, 1, 2].map((id) => reply(loop, requestOf(id, idsOf(8)))));
      const failed = {
        status: "rejected",
        reason: { failure: { code: "session_failed", message: "the kernel broke" } },
      };
      expect(replies).toMatchObject([failed, failed, failed]);
      await expect(reply(loop, requestOf(3, idsOf(8)))).rejects.toMatchObject(failed.reason);
    }));
});
