/** Under `instances: ragen` a seed stands for the first board of RAGEN's game under it. */
import { Schema } from "effect";
import { expect, it } from "vitest";
import { tileValue } from "../../../../src/env/games/game_2048/Board.ts";
import { Game2048 } from "../../../../src/env/games/game_2048/Game2048.ts";
import { Game2048Config } from "../../../../src/env/games/game_2048/Game2048Config.ts";
import { instanceOf } from "../../contract/players.ts";
import { ragen } from "../ragen.ts";

it("begins RAGEN's games", () => {
  const config = Schema.decodeUnknownSync(Game2048Config)({ instances: "ragen" });
  const { first, instances } = ragen.game_2048;
  const boards = instances.map((_, at) => Game2048.reset(config, instanceOf(first + at), "train").cells.map(tileValue));
  expect(boards).toEqual(instances);
});
