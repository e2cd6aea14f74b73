/** Under `instances: ragen` a seed stands for the names and the order that RAGEN's environment of number 0 shows under it. */
import { Schema } from "effect";
import { expect, it } from "vitest";
import { Bandit } from "../../../../src/env/games/bandit/Bandit.ts";
import { BanditConfig } from "../../../../src/env/games/bandit/BanditConfig.ts";
import { instanceOf } from "../../contract/players.ts";
import { ragen } from "../ragen.ts";

it.each(ragen.bandit)("shows RAGEN's $split names in RAGEN's order", ({ first, instances, split }) => {
  const config = Schema.decodeUnknownSync(BanditConfig)({ split, instances: "ragen" });
  const shown = instances.map((_, at) => {
    const { arms, risky } = Bandit.reset(config, instanceOf(first + at), "train");
    return [...arms, risky];
  });
  expect(shown).toEqual(instances);
});
