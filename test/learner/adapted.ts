/** A tiny decoder with an adapter, and the base beside it in shared memory, as runs hold it. */
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { type Parameters, parametersOver } from "../../src/model/graphs/Parameters.ts";
import { tiny, tinyParameters } from "./model.ts";

export const adapted: DecoderConfig = {
  ...tiny,
  layers: 2,
  adapter: { rank: 2, alpha: 4, targets: ["q_proj", "v_proj", "down_proj"] },
};

/** A copy of parameters in memory that threads can share. */
export const shared = ({ flat, specs }: Parameters): Parameters<SharedArrayBuffer> => {
  const memory = new Float32Array(new SharedArrayBuffer(flat.byteLength));
  memory.set(flat);
  return parametersOver(specs, memory);
};

/** Returns the base weights of `config`, which stay frozen under its adapter. */
export const frozen = (config = adapted): Parameters<SharedArrayBuffer> =>
  shared(tinyParameters(7, { ...config, adapter: undefined }));
