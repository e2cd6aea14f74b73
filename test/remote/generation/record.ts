/**
 * Records what a real vLLM server answers, for test/remote/generation/recorded: `node test/remote/generation/record.ts URL`. The server is started as
 * docs/remote.md says; its weights stay as they are.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const [url = "http://127.0.0.1:8000"] = process.argv.slice(2);
const folder = join(import.meta.dirname, "recorded");

const ask = async (path: string, json?: unknown) => {
  const init =
    json === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(json) };
  const response = await fetch(`${url}${path}`, init);
  return { status: response.status, body: await response.text() };
};

const { data } = JSON.parse((await ask("/v1/models")).body) as { readonly data: readonly { readonly id: string }[] };
const model = data[0]?.id ?? "";
const generate = (token_ids: readonly number[], sampling_params: object) =>
  ask("/inference/v1/generate", { model, token_ids, sampling_params });

const answers = {
  version: await ask("/version"),
  models: await ask("/v1/models"),
  isPaused: await ask("/is_paused"),
  weightInfo: await ask("/weight_info"),
  tokenize: await ask("/tokenize", { model, prompt: "Up || Down", add_special_tokens: false }),
  generated: await generate([10, 20, 30], { max_tokens: 4, temperature: 1, logprobs: 0, ignore_eos: true }),
  likeliest: await generate([10, 20, 30], { max_tokens: 1, temperature: 0.5, logprobs: 5, ignore_eos: true }),
  outOfVocabulary: await generate([100_000_000], { max_tokens: 1 }),
  tooLong: await generate(new Array(4_000).fill(10), { max_tokens: 1 }),
  unknownModel: await ask("/inference/v1/generate", { model: "nobody", token_ids: [1], sampling_params: {} }),
  metrics: await ask("/metrics"),
};
// The page has much more, and the folder is this machine's own.
const lines = answers.metrics.body
  .split("\n")
  .filter((line) => /^vllm:(num_requests|kv_cache_usage|prompt_tokens_total|prefix_cache_hits)/.test(line));
answers.metrics.body = `${lines.join("\n")}\n`;
answers.models.body = answers.models.body.replace(/"root":"[^"]*"/, '"root":"models/tiny"');
writeFileSync(join(folder, "vllm-0.32.json"), `${JSON.stringify(answers, null, 2)}\n`);
