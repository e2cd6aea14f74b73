/** The process of one bench, forked by `all.ts`: times the GEMM unit, measures, times the unit again, sends the figures and ends. */
import { benches, isBenchName } from "./benches.ts";
import { timeGemm, unitOf } from "./gemmUnit.ts";
import type { Row } from "./Report.ts";

const name = process.argv[2] ?? "";
if (!isBenchName(name)) throw new Error(`there is no bench "${name}"`);
const { bench } = await benches[name]();
const before = await timeGemm();
const start = performance.now();
const measured = await bench.measure();
const seconds = (performance.now() - start) / 1000;
const unit = unitOf(before, await timeGemm());
const row: Row = { bench: name, question: bench.question, gemm: unit, seconds, figures: measured(unit) };
process.send?.(row, () => process.exit(0));
