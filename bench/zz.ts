import { run } from "../src/simulation/run.ts";
import * as Autotune from "../src/tuning/Autotune.ts";
import * as M from "./machines.ts";

const perSecond = (c: readonly number[], from: number, to: number) => {
  const w = c.filter((t) => t >= from && t < to);
  return (1000 * (w.length - 1)) / (w.at(-1)! - w[0]!);
};
const best = (m: M.Machine, from: number, to: number, shifted: boolean) => {
  let top = 0,
    set: any;
  const mm = shifted ? { ...m, generate: m.shift!.generate, step: m.shift!.step } : { ...m };
  for (const rollout of [8, 16, 24])
    for (const generate of [12, 16, 24, 32, 96])
      for (const step of [12, 16, 24, 32, 40, 48, 64, 96]) {
        const r = run({
          ...M.shapeOf(
            { name: mm.name, generate: mm.generate, step: mm.step, update: mm.update, order: mm.order } as any,
            { rollout, generate, step },
            7,
          ),
          until: 150_000,
        }).consumedAt;
        const p = perSecond(r, 20_000, 150_000);
        if (p > top) {
          top = p;
          set = { rollout, generate, step };
        }
      }
  return { top, set };
};
const verbose = process.argv[2] === "-v";
for (const m of M.machines.filter((m) => !process.argv[3] || m.name === process.argv[3])) {
  const t0 = performance.now();
  const b1: any = verbose ? { top: 1, set: { rollout: 24, generate: 96, step: 32 } } : best(m, 0, 0, false),
    b2: any = m.shift && !verbose ? best(m, 0, 0, true) : undefined;
  console.log(m.name, b1, b2, ((performance.now() - t0) / 1000).toFixed(1) + "s");
  for (const [name, start] of Object.entries(M.starts))
    for (const seed of [1, 2, 3]) {
      let state = Autotune.start({
        knobs: M.knobs,
        setting: { mode: "async", groupSize: 8, most: new Map(M.knobs.map((k) => [k.stage, k.most])) },
      });
      const log: string[] = [];
      const at: number[] = [];
      const t1 = performance.now();
      const r = run({
        ...M.shapeOf(m, start, seed),
        observer: {
          everyMs: 1000,
          onSample: (sample, set) => {
            const o = Autotune.observe(state, sample);
            state = o.state;
            for (const d of o.decisions) {
              set(d.control.stage as any, d.control.concurrency);
              at.push(sample.elapsedMs);
              log.push(
                `${(sample.elapsedMs / 1000).toFixed(0)}s ${d.control.stage}=${d.control.concurrency} ${d.reason}`,
              );
            }
          },
        },
      });
      const end = m.shift?.at ?? M.LENGTH;
      const parts = [perSecond(r.consumedAt, M.MINUTE, end) / b1.top];
      const fixedSame = perSecond(
        run(M.shapeOf({ ...m, shift: undefined } as any, b1.set, seed)).consumedAt,
        M.MINUTE,
        end,
      );
      parts.push(perSecond(r.consumedAt, M.MINUTE, end) / fixedSame);
      if (b2) {
        const f2 = perSecond(run(M.shapeOf(m, b2.set, seed)).consumedAt, end + M.MINUTE, M.LENGTH);
        parts.push(perSecond(r.consumedAt, end + M.MINUTE, M.LENGTH) / f2);
      }
      const settled =
        at.filter((t) => t >= 120_000 && (!m.shift || t < m.shift.at || t >= m.shift.at + 120_000)).length /
        ((M.LENGTH - 120_000 - (m.shift ? 120_000 : 0)) / 60000);
      console.log(
        "  ",
        name,
        seed,
        parts.map((x) => x.toFixed(3)).join(" "),
        "changes",
        at.length,
        "settled/min",
        settled.toFixed(2),
        ((performance.now() - t1) / 1000).toFixed(1) + "s",
      );
      if (verbose) console.log(log.map((l) => "      " + l).join("\n"));
    }
}
