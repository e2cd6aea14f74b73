/** Checks of generation on servers, and of what each kind of server cannot do. */
import { generatorDevice } from "../devices.ts";
import type { RunConfig } from "../RunConfig.ts";
import { showValue } from "../show.ts";
import { type Check, problemIf } from "./Check.ts";

/** True if servers generate, not threads of this process. */
export const isGeneratorRemote = ({ generator }: Pick<RunConfig["model"], "generator">): boolean =>
  generator.engine !== "local";

const localGenerator: Check = ({ model: { generator } }) =>
  problemIf(
    generator.urls.length > 0,
    () =>
      `model.generator.engine: local: it asks no server, and model.generator.urls names ${generator.urls.length}; nearest: vllm, or urls=[]`,
  );

const remoteGenerator: Check = ({ generation, model }) => {
  const { engine, urls } = model.generator;
  const [duplicate] = urls.filter((url, index) => urls.indexOf(url) < index);
  return [
    ...problemIf(
      engine === "tinker" && urls.length > 0,
      () =>
        `model.generator.urls: [${urls.length} addresses]: engine=tinker asks the server of model.learner.url; nearest: []`,
    ),
    ...problemIf(
      engine !== "tinker" && urls.length === 0,
      () => `model.generator.urls: []: engine=${engine} asks servers; nearest: [http://127.0.0.1:8000]`,
    ),
    ...problemIf(
      duplicate !== undefined,
      () => `model.generator.urls: ${showValue(duplicate)}: it is listed twice; nearest: once`,
    ),
    ...problemIf(
      model.generator_threads > 1,
      () =>
        `model.generator_threads: ${model.generator_threads}: no thread of this process generates with model.generator.engine=${engine}; nearest: 1`,
    ),
    ...problemIf(
      model.generator_device !== "" && generatorDevice(model).kind !== "cpu",
      () =>
        `model.generator_device: ${model.generator_device}: servers generate where they were started (model.generator.engine=${engine}); nearest: empty`,
    ),
    ...problemIf(
      engine === "sglang" && generation.top_k >= 1,
      () =>
        `generation.top_k: ${generation.top_k}: an SGLang server's log-probabilities leave the truncation out; nearest: -1, or engine=vllm`,
    ),
    ...problemIf(
      engine === "sglang" && generation.top_p < 1,
      () =>
        `generation.top_p: ${generation.top_p}: an SGLang server's log-probabilities leave the truncation out; nearest: 1, or engine=vllm`,
    ),
    ...problemIf(
      engine === "sglang" && generation.kv_on_update === "recompute",
      () =>
        "generation.kv_on_update: recompute: an SGLang server keeps the caches of running requests; nearest: keep, or engine=vllm",
    ),
  ];
};

const keyVariable: Check = ({ model: { generator } }) =>
  // The message omits the value, which may be the secret itself.
  problemIf(
    !/^([A-Za-z_][A-Za-z0-9_]{0,63})?$/.test(generator.api_key_env),
    () => "model.generator.api_key_env: expected the name of an environment variable that holds the key, not the key",
  );

export const generator: Check = (config) => [
  ...keyVariable(config),
  ...(isGeneratorRemote(config.model) ? remoteGenerator(config) : localGenerator(config)),
];
