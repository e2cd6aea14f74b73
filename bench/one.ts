/** The process of one bench, forked by `all.ts`: measures its parts between timings of the GEMM unit, sends the figures and ends. */
import type { Figure } from "./Bench.ts";
import { benches, isBenchName } from "./benches.ts";
import { type GemmTimes, timeGemm, unitOf } from "./gemmUnit.ts";
import type { Row } from "./Report.ts";

// The runner has gone: nobody wants the figures.
process.on("disconnect", () => process.exit(1));

const name = process.argv[2] ?? "";
if (!isBenchName(name)) throw new Error(`there is no bench "${name}"`);
const { bench } = await benches[name]();
const figures: Figure[] = [];
const units: GemmTimes[] = [await timeGemm()];
let seconds = 0;
for (const part of bench.parts) {
  const start = performance.now();
  const measured = await part();
  seconds += (performance.now() - start) / 1000;
  const before = units.at(-1)!;
  const after = await timeGemm();
  units.push(after);
  figures.push(...measured(unitOf([before, after])));
}
const row: Row = { bench: name, question: bench.question, gemm: unitOf(units), seconds, figures };
process.send?.(row, () => process.exit(0));
