/** Measures how many rooms one core draws: RAGEN's 6 x 6 room with one box, on one thread. */
import { Schema } from "effect";
import { stream } from "../src/domain/Random.ts";
import { drawRoom } from "../src/env/games/sokoban/Room.ts";
import { SokobanConfig } from "../src/env/games/sokoban/SokobanConfig.ts";
import { type Bench, figureOf } from "./Bench.ts";
import { rates, repeat } from "./samples.ts";

const ROOMS = 2000;
/** The GEMM unit the target is stated at. */
const REFERENCE = 60;
const config = Schema.decodeUnknownSync(SokobanConfig)({ dim_x: 6, dim_y: 6, num_boxes: 1 });

export const bench: Bench = {
  question: "how many Sokoban rooms does one core draw a second?",
  parts: [
    async () => {
      let seed = 0;
      const times = await repeat({ iterations: 9, warmup: 3 }, async () => {
        seed++;
        for (let i = 0; i < ROOMS; i++) drawRoom(config, stream({ seed, purpose: "instance", counters: [i] }));
      });
      const perSecond = rates(times, ROOMS * 1000);
      return (unit) => [
        figureOf("rooms a second, at a GEMM unit of 60", "1/s", perSecond, {
          scale: REFERENCE / unit.one.median,
          target: { atLeast: 3000 },
        }),
        figureOf("rooms a second, here", "1/s", perSecond),
      ];
    },
  ],
};
