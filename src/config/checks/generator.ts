/** Generation on servers: what contradicts it, and what the servers of a kind cannot do. */
import { generatorDevice } from "../devices.ts";
import type { RunConfig } from "../RunConfig.ts";
import { type Check, when } from "../relation.ts";
import { shown } from "../shown.ts";

/** Whether servers generate, not threads of this process. */
export const isRemote = ({ generator }: Pick<RunConfig["model"], "generator">): boolean => generator.engine !== "local";

const ofLocal: Check = ({ model: { generator } }) =>
  when(
    generator.urls.length > 0,
    () =>
      `model.generator.engine: local: it asks no server, and model.generator.urls names ${generator.urls.length}; nearest: vllm, or urls=[]`,
  );

const ofServers: Check = ({ generation, model }) => {
  const { engine, urls } = model.generator;
  const [twice] = urls.filter((url, index) => urls.indexOf(url) < index);
  return [
    ...when(
      engine === "tinker" && urls.length > 0,
      () =>
        `model.generator.urls: [${urls.length} addresses]: engine=tinker asks the server of model.learner.url; nearest: []`,
    ),
    ...when(
      engine !== "tinker" && urls.length === 0,
      () => `model.generator.urls: []: engine=${engine} asks servers; nearest: [http://127.0.0.1:8000]`,
    ),
    ...when(twice !== undefined, () => `model.generator.urls: ${shown(twice)}: it is listed twice; nearest: once`),
    ...when(
      model.generator_threads > 1,
      () =>
        `model.generator_threads: ${model.generator_threads}: no thread of this process generates with model.generator.engine=${engine}; nearest: 1`,
    ),
    ...when(
      model.generator_device !== "" && generatorDevice(model).kind !== "cpu",
      () =>
        `model.generator_device: ${model.generator_device}: servers generate where they were started (model.generator.engine=${engine}); nearest: empty`,
    ),
    ...when(
      engine === "sglang" && generation.top_k >= 1,
      () =>
        `generation.top_k: ${generation.top_k}: an SGLang server's log-probabilities leave the truncation out; nearest: -1, or engine=vllm`,
    ),
    ...when(
      engine === "sglang" && generation.top_p < 1,
      () =>
        `generation.top_p: ${generation.top_p}: an SGLang server's log-probabilities leave the truncation out; nearest: 1, or engine=vllm`,
    ),
    ...when(
      engine === "sglang" && generation.kv_on_update === "recompute",
      () =>
        "generation.kv_on_update: recompute: an SGLang server keeps the caches of running requests; nearest: keep, or engine=vllm",
    ),
  ];
};

const names: Check = ({ model: { generator } }) =>
  // The value may be the key itself, and is not repeated.
  when(
    !/^([A-Za-z_][A-Za-z0-9_]{0,63})?$/.test(generator.api_key_env),
    () => "model.generator.api_key_env: expected the name of an environment variable that holds the key, not the key",
  );

export const generator: Check = (config) => [
  ...names(config),
  ...(isRemote(config.model) ? ofServers(config) : ofLocal(config)),
];
