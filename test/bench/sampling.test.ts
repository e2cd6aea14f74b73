/** The bench of sampling measures every case beside plain JavaScript. */
import { expect, it } from "vitest";
import { measure } from "../../bench/sampling.ts";

it("measures a draw and its ratio to plain JavaScript in each case", () => {
  const figures = measure(300, 2, { rows: 4, batches: 2 });
  expect(figures.map(({ name }) => name.replace("300 ids, ", ""))).toEqual(
    ["temperature 1", "temperature 0.3", "top-p 0.95", "top-k 50"].flatMap((name) => [
      `${name}: a draw`,
      `${name}: plain JavaScript over it`,
    ]),
  );
  expect(figures.every(({ value }) => value > 0)).toBe(true);
});
