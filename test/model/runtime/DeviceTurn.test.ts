import { expect, it } from "vitest";
import { turn } from "../../../src/model/runtime/DeviceTurn.ts";

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("gives turns one at a time, in the order they are asked for", async () => {
  const seen: string[] = [];
  const take = (name: string) =>
    turn(async () => {
      seen.push(`${name} begins`);
      await pause();
      seen.push(`${name} ends`);
    });
  await Promise.all([take("a"), take("b"), take("c")]);
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

it("ends a turn that fails", async () => {
  await expect(turn(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await turn(() => 1)).toBe(1);
});
