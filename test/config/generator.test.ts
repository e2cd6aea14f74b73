/** What a run file that generates on servers is refused for. */
import { describe, expect, it } from "@effect/vitest";
import { Result } from "effect";
import { check } from "../../src/config/check.ts";
import { decode } from "../../src/config/decode.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { configWith } from "../build/config.ts";

const problems = (generator: Tree, rest: Tree = {}): readonly string[] =>
  check(configWith(merge({ model: { generator } }, rest))).filter((line) => /generator|generation/.test(line));

const vllm = { engine: "vllm", urls: ["http://127.0.0.1:8000"] };
const sglang = { ...vllm, engine: "sglang" };

describe("model.generator", () => {
  it("is local, and asks for nothing", () => {
    expect(problems({})).toEqual([]);
    expect(problems(vllm)).toEqual([]);
    expect(problems(sglang)).toEqual([]);
  });

  const cases: ReadonlyArray<readonly [generator: Tree, rest: Tree, line: RegExp]> = [
    [
      { urls: ["http://a:1"] },
      {},
      /^model\.generator\.engine: local: it asks no server.*; nearest: vllm, or urls=\[\]$/,
    ],
    [{ engine: "vllm" }, {}, /^model\.generator\.urls: \[\]: engine=vllm asks servers; nearest: \[http/],
    [{ ...vllm, urls: ["http://a:1", "http://a:1"] }, {}, /listed twice; nearest: once$/],
    [vllm, { model: { generator_threads: 2 } }, /^model\.generator_threads: 2: .*; nearest: 1$/],
    [vllm, { model: { generator_device: "webgpu" } }, /^model\.generator_device: webgpu: .*; nearest: empty$/],
    [
      { ...vllm, api_key_env: "sk-12 34" },
      {},
      /^model\.generator\.api_key_env: expected the name of an environment variable/,
    ],
    [sglang, { generation: { kv_on_update: "recompute" } }, /^generation\.kv_on_update: recompute: .*; nearest: keep/],
    [
      sglang,
      { generation: { top_k: 5, allow_truncated_sampling: true } },
      /^generation\.top_k: 5: an SGLang server.*; nearest: -1, or engine=vllm$/,
    ],
  ];
  it.each(cases)("refuses what contradicts: %j %j", (generator, rest, line) => {
    expect(problems(generator, rest)).toEqual([expect.stringMatching(line)]);
  });

  it("never repeats what may be the key itself", () => {
    expect(problems({ ...vllm, api_key_env: "sk-secret!" }).join()).not.toContain("secret");
  });

  it("refuses addresses with credentials, and unknown engines with the nearest", () => {
    const refused = (generator: Tree) => String(Result.getFailure(decode(RunConfig, { model: { generator } })));
    expect(Result.isFailure(decode(RunConfig, { model: { generator: { urls: ["http://me:secret@a:1"] } } }))).toBe(
      true,
    );
    expect(refused({ engine: "vlm" })).toContain("vllm");
  });
});
