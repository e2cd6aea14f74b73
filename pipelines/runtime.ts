/** Whether what a run file asks to run its model by is installed, looked up before anything starts and loaded by nobody here. */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { type Find, installedPeer, MISSING } from "../src/model/runtime/tfjs/peer.ts";

/** Fails with BadInput where `model.runtime` is tfjs and none of its packages is found. `find` is Node's own look-up by default. */
export const checkRuntime = ({ model }: Pick<RunConfig, "model">, find?: Find): Effect.Effect<void, BadInput> =>
  model.runtime === "tfjs" && installedPeer(find) === undefined
    ? Effect.fail(new BadInput({ message: MISSING }))
    : Effect.void;
