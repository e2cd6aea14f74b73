import { expect, it } from "vitest";
import { pythonHash } from "../../../../src/env/games/random/pythonHash.ts";
import { golden } from "./golden.ts";

it.each(golden.hashes)("hashes %j as Python does with randomisation off", (text, hash) => {
  expect(String(pythonHash(text))).toBe(hash);
});
