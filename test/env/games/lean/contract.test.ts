/** The contract suite over the preset, against a stand-in server. */
import { afterAll } from "vitest";
import { contract } from "../../contract/contract.ts";
import type { Act } from "../../contract/players.ts";
import { asyncPreset } from "../../contract/presets.ts";
import { standIn } from "./standIn.ts";

const server = await standIn();
afterAll(() => server.close());

const tactics = ["intro", "step", "nonsense", "sorry", "loop", "", "qed"];
const act: Act = (_state, random) => random.pick(tactics);

const keys = { server_url: server.url, max_steps: 3, retry_wait: 0 };
contract("Lean", { environment: asyncPreset("Lean", keys), certain: asyncPreset("Lean", keys), actions: 3, act });
