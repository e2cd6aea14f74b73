/** A report's curve as CSV. */
import { expect, it } from "vitest";
import type { RunCard } from "../../../../../src/observe/watch/Api.ts";
import { csvOf, linesOf } from "../../../../../src/observe/watch/page/report/csv.ts";

const card = (id: string): RunCard => ({
  id,
  name: "",
  stamp: "",
  state: "completed",
  message: null,
  mode: "sync",
  maxStaleness: 0,
  seed: 0,
  step: 2,
  steps: 2,
  started: 0,
  last: 0,
  controllable: false,
});
const curves = {
  steps: [1, 2],
  times: [10, 20],
  series: [{ name: "a", mean: [0.5, null], min: [0, null], max: [1, null] }],
};

it("has a line for each run and measured step; names that would break it are quoted", () => {
  const lines = linesOf("a", [
    { card: card("one/1"), curves },
    { card: card('two,"2"'), curves },
    { card: card("three/3"), curves: { ...curves, series: [] } },
  ]);
  expect(lines).toEqual(["run,step,time,mean,min,max", "one/1,1,10,0.5,0,1", '"two,""2""",1,10,0.5,0,1']);
  expect(decodeURIComponent(csvOf("a", []))).toBe("data:text/csv;charset=utf-8,run,step,time,mean,min,max\n");
});
