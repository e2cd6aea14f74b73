import { describe, expect, it } from "vitest";
import { playersOf, singlePlayerConfigs } from "../../src/config/players.ts";
import { remarks } from "../../src/config/resolve.ts";
import { refused, resolved } from "./configs.ts";

const players = (text: string, ...overrides: readonly string[]) => playersOf(resolved(text, ...overrides).config);
const endpoint = (text: string) => players(`evaluation: { endpoint: { kind: openai, model: m, ${text} } }`)[0];

/** A file as RAGEN writes them for API models. */
const ragens = `
model_config: { model_name: small, max_concurrency: 3 }
model_info:
  small:
    provider_name: anthropic
    model_name: small-2025
    generation_kwargs: { temperature: 0, max_tokens: 512 }
  thinker-1.5:
    provider_name: deepseek
    model_name: thinker
    generation_kwargs: { temperature: 0.2, max_completion_tokens: 900 }
`;

describe("who plays an evaluation", () => {
  it("is the checkpoint unless an endpoint is set", () => {
    expect(players("model: { path: runs/a/step-3 }")).toEqual([
      { _tag: "Checkpoint", name: "step-3", path: "runs/a/step-3", temperature: 0.5 },
    ]);
  });

  it("is an endpoint under the values of the run, where the endpoint has none of its own", () => {
    expect(endpoint("")).toMatchObject({
      protocol: "openai",
      baseUrl: "https://api.openai.com/v1",
      keyVariable: "OPENAI_API_KEY",
      temperature: 0.5,
      maxTokens: 400,
      maxConcurrency: 16,
      requestsPerMinute: null,
      budget: { tokens: null, usd: null },
    });
  });

  it("sends no provider's key to another address", () => {
    expect(endpoint("base_url: 'http://127.0.0.1:8000/v1/'")).toMatchObject({
      baseUrl: "http://127.0.0.1:8000/v1",
      keyVariable: null,
    });
    expect(endpoint("base_url: 'http://127.0.0.1:8000/v1', api_key_env: MINE")).toMatchObject({ keyVariable: "MINE" });
  });

  it("leaves out the fields that are not to be sent", () => {
    expect(endpoint("omit: [temperature]")).toMatchObject({ sentFields: { temperature: false, maxTokens: true } });
  });

  it("leaves to an agent what the run file neither sets nor omits of sampling", () => {
    const fieldsOf = (text: string) => {
      const found = endpoint(text);
      return found?._tag === "Endpoint" ? found.agentFields : null;
    };
    expect(fieldsOf("")).toEqual(["temperature", "topP", "topK", "seed", "stop"]);
    expect(fieldsOf("temperature: 0, omit: [top_k, stop]")).toEqual(["topP", "seed"]);
    expect(fieldsOf("extra_body: { top_p: 0.9, stop_sequences: [END] }, omit: [temperature]")).toEqual([
      "topK",
      "seed",
    ]);
    expect(players(ragens)[0]).toMatchObject({ agentFields: ["topP", "topK", "seed", "stop"] });
  });

  it("is found in RAGEN's register of models", () => {
    expect(players(ragens)[0]).toMatchObject({
      name: "small",
      protocol: "anthropic",
      model: "small-2025",
      keyVariable: "ANTHROPIC_API_KEY",
      temperature: 0,
      maxTokens: 512,
      maxConcurrency: 3,
    });
    expect(players(ragens, "model_config.model_name=thinker-1.5")[0]).toMatchObject({
      protocol: "openai",
      keyVariable: "DEEPSEEK_API_KEY",
      maxTokens: 900,
      sentFields: { maxTokens: false },
      extraFields: { max_completion_tokens: 900 },
    });
  });
});

describe("a list of models", () => {
  const list = `
model: { path: base }
evaluation:
  endpoint: { kind: openai, base_url: 'http://h/v1', model: m, retries: 2 }
  models:
    - { temperature: 0 }
    - { temperature: 1 }
    - { path: runs/x/step-9 }
    - { name: other, endpoint: { kind: anthropic, model: n, budget_tokens: 5 } }
`;

  it("differs from the keys beside it in what it names", () => {
    expect(players(list)).toMatchObject([
      { name: "m-t0", temperature: 0, retries: 2 },
      { name: "m-t1", temperature: 1 },
      { _tag: "Checkpoint", name: "step-9", path: "runs/x/step-9", temperature: 0.5 },
      { name: "other", protocol: "anthropic", model: "n", baseUrl: "http://h/v1", retries: 2, budget: { tokens: 5 } },
    ]);
  });

  it("is as many run files with one player each", () => {
    const alone = singlePlayerConfigs(resolved(list).config).map((config) => playersOf(config));
    expect(alone.map((all) => all.length)).toEqual([1, 1, 1, 1]);
    expect(alone.flat()).toMatchObject([
      { temperature: 0 },
      { temperature: 1 },
      { path: "runs/x/step-9" },
      { model: "n" },
    ]);
  });
});

describe("an endpoint is refused", () => {
  it.each([
    ["evaluation.endpoint.model=m", 'evaluation.endpoint.kind: none: "m" needs openai or anthropic; nearest: openai'],
    ["evaluation.endpoint.kind=openai", "evaluation.endpoint.model"],
    ["evaluation.endpoint={kind: openai, model: m, budget_usd: 3}", "budget_usd: 3: needs price_in and price_out"],
    ["evaluation.endpoint={kind: openai, model: m, base_url: here}", "expected an address"],
    ["evaluation.models=[{name: a}, {name: a}]", 'two models are called "a-t0.5"'],
    ["output.format=parquet", "expected one of jsonl; nearest: jsonl"],
    ["output.save_pkl_backup=true", "episodes are written as JSON lines only"],
    ["output.keep_batch_keys=[input_ids]", "without tensors"],
  ])("%s", (override, message) => {
    expect(refused("", override)).toContain(message);
  });

  it("without repeating what may be a key", () => {
    const message = refused("", "evaluation.endpoint={kind: openai, model: m, api_key_env: sk-abc-123}");
    expect(message).toContain("evaluation.endpoint.api_key_env: expected the name of an environment variable");
    expect(message).not.toContain("sk-abc-123");
  });
});

it("takes RAGEN's output block", () => {
  const text =
    "output: { dir: results/eval, filename: val_rollouts.pkl, append_timestamp: true, keep_batch_keys: null, keep_meta_info: true }";
  const found = resolved(text);
  const { config } = found;
  expect(config.output).toMatchObject({ dir: "results/eval", filename: "val_rollouts.pkl", append_timestamp: true });
  expect(remarks(found)).toBeNull();
});

it("writes text where RAGEN writes a pickle, and says so", () => {
  const found = resolved("output: { format: pkl }");
  expect(found.config.output.format).toBe("jsonl");
  expect(remarks(found)).toContain("output.format: pkl: episodes are written as JSON lines");
});
