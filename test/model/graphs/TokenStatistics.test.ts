/** Statistics of a large vocabulary against those from its scores, in value and gradient, whatever the chunks. */
import { describe, expect, it } from "vitest";
import { scoredStatistics, tokenStatistics } from "../../../src/model/graphs/TokenStatistics.ts";
import { add, mul } from "../../../src/model/tensor/Elementwise.ts";
import { gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../../src/model/tensor/Layout.ts";
import { gemm } from "../../../src/model/tensor/Linear.ts";
import { float32, int64, runOnce } from "../tensor/session.ts";
import { draws } from "../tiny.ts";

const [rows, width, vocabulary] = [5, 8, 37];
const random = draws(3);
const normal = (count: number, size = 1) => Float32Array.from({ length: count }, () => size * random.normal());
const feeds = {
  hidden: float32([rows, width], normal(rows * width, 2)),
  table: float32([vocabulary, width], normal(vocabulary * width)),
  tokens: int64([rows], [0, 36, 5, 5, 17]),
  byLogp: float32([rows], normal(rows)),
  byEntropy: float32([rows], normal(rows)),
};

type Statistics = typeof tokenStatistics;

const run = (statistics: Statistics, chunks: number, bonus: boolean) => {
  const graph = new Graph();
  const hidden = graph.input("hidden", "float32", ["rows", width]);
  const table = graph.input("table", "float32", [vocabulary, width]);
  const tokens = graph.input("tokens", "int64", ["rows"]);
  const { entropy, logp } = statistics(hidden, table, tokens, chunks);
  const weigh = (x: Tensor, name: string) => reduceSum(mul(x, graph.input(name, "float32", ["rows"])));
  const byLogp = weigh(logp, "byLogp");
  const byEntropy = weigh(entropy, "byEntropy");
  const [ofHidden, ofTable] = gradients(bonus ? add(byLogp, byEntropy) : byLogp, [hidden, table]);
  graph.output("logp", logp);
  graph.output("entropy", entropy);
  graph.output("by hidden", ofHidden!);
  graph.output("by table", ofTable!);
  return runOnce(graph.toModel(), feeds);
};

const plain: Statistics = (hidden, table, tokens) => scoredStatistics(gemm(hidden, table, { transB: true }), tokens);

describe("token statistics", () => {
  it.each(
    [1, 2, 5].flatMap((chunks) => [
      [chunks, false],
      [chunks, true],
    ]) as [number, boolean][],
  )("in %i chunks are those from scores, an entropy's gradient among them: %s", async (chunks, bonus) => {
    const [chunked, expected] = [await run(tokenStatistics, chunks, bonus), await run(plain, 1, bonus)];
    for (const name of ["logp", "entropy", "by hidden", "by table"]) {
      const worst = Math.max(...expected[name]!.map((value, i) => Math.abs(value - chunked[name]![i]!)));
      expect(worst, name).toBeLessThan(2e-5);
    }
  });
});
