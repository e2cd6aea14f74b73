import { expect, it } from "vitest";
import { takeTurn } from "../../../src/model/runtime/DeviceTurn.ts";

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("gives turns one at a time, in the order they are asked for", async () => {
  const seen: string[] = [];
  const take = (name: string) =>
    takeTurn(async () => {
      seen.push(`${name} begins`);
      await pause();
      seen.push(`${name} ends`);
    });
  await Promise.all([take("a"), take("b"), take("c")]);
  expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

it("ends a turn that fails", async () => {
  await expect(takeTurn(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await takeTurn(() => 1)).toBe(1);
});
