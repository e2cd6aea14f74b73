/** Generation on WebGPU: what is sampled is what full scoring says, and of a step only ids and what was drawn move. */
import { expect, it } from "vitest";
import { openResident } from "../../src/policy/generation/ResidentModel.ts";
import { transfers } from "../../src/policy/runtime/Session.ts";
import { concat, engineOn, idsOf, reply, requestOf, score, tiny, weightsOf } from "../policy/generation/support.ts";
import { webgpu } from "./compared.ts";

const ROWS = 8;
/** Of a row in a decode step: id and past as int64, three numbers of its draw; four numbers of what was drawn. */
const [UP, DOWN] = [8 + 8 + 12, 16];

it("keeps weights, caches and logits on the device", async () => {
  const engine = engineOn(await openResident(tiny, webgpu), { slots: ROWS });
  try {
    const first = idsOf(9, 1);
    const opened = await reply(engine, requestOf(1, first, { maxTokens: 6 }));
    const begun = transfers();
    expect(begun.uploaded).toBeGreaterThan(weightsOf(0).flat.byteLength);
    const steps = engine.gauges().decodeSteps;
    const second = idsOf(1, 2);
    const more = await reply(engine, requestOf(1, second, { maxTokens: 24 }));
    const moved = transfers();
    const decoded = engine.gauges().decodeSteps - steps;
    expect(decoded).toBeGreaterThan(20);
    // besides the decode steps: one feed of up to 16 ids for one row, and one arrangement to a second bucket of positions
    const once = 4096;
    expect(moved.uploaded - begun.uploaded).toBeLessThanOrEqual(decoded * ROWS * UP + once);
    expect(moved.downloaded - begun.downloaded).toBeLessThanOrEqual(decoded * ROWS * DOWN + once);

    const history = concat(first, opened.ids, second, more.ids);
    const logp = await score(history, 0);
    const replied = history.length - more.ids.length;
    for (const [t, mu] of more.mu.entries()) expect(Math.abs(mu - logp[replied - 1 + t]!)).toBeLessThan(1e-3);
  } finally {
    await engine.close();
  }
});
