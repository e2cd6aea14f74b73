/** The command that starts a server for a run, for messages; docs/remote.md explains its flags. */
import type { ServerRequirements } from "./Dialect.ts";

/** @param path the folder of the run's starting weights */
export const startCommand = (
  engine: "vllm" | "sglang",
  { kind, positions, rank }: ServerRequirements,
  path: string,
): string => {
  const adapter = kind === "adapter";
  if (engine === "sglang") {
    const lora = adapter ? ` --enable-lora --max-lora-rank ${rank}` : "";
    return `python -m sglang.launch_server --model-path ${path} --context-length ${positions} --enable-metrics${lora}`;
  }
  const environment = `VLLM_SERVER_DEV_MODE=1${adapter ? " VLLM_ALLOW_RUNTIME_LORA_UPDATING=1" : ""}`;
  const lora = adapter ? ` --enable-lora --max-lora-rank ${rank} --max-loras 2` : "";
  const flags = `--logprobs-mode processed_logprobs --enable-scale-out --max-model-len ${positions}${lora}`;
  return `${environment} vllm serve ${path} ${flags}`;
};
