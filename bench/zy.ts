import { run } from "../src/simulation/run.ts";
import * as M from "./machines.ts";

const m = M.machines.find((m) => m.name === process.argv[2])!;
const start = { rollout: 24, generate: 192, step: 192 };
let last: any;
run({
  ...M.shapeOf(m, start, 1),
  until: 60_000,
  changes: [{ at: 20_000, setting: "step", value: +process.argv[3]! }],
  observer: {
    everyMs: 2000,
    onSample: (s) => {
      const g = (x: any, n: string) => x.stages.find((y: any) => y.name === n);
      if (last)
        console.log(
          s.elapsedMs / 1000,
          "gen",
          g(s, "generate").items - g(last, "generate").items,
          "step",
          g(s, "step").items - g(last, "step").items,
          "running",
          g(s, "step").running,
          "q",
          g(s, "step").queue,
          "roll",
          g(s, "rollout").running,
          g(s, "rollout").blocked,
          "win",
          s.consumedAt.length,
        );
      last = s;
    },
  },
});
