/** Run files that generate on servers, and the messages that refuse them. */
import { describe, expect, it } from "@effect/vitest";
import { check } from "../../src/config/check.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { configWith } from "../build/config.ts";
import { problemsIn } from "../problems.ts";

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

  const cases: ReadonlyArray<readonly [generator: Tree, rest: Tree, key: string, nearest: string | null]> = [
    [{ urls: ["http://a:1"] }, {}, "model.generator.engine", "vllm, or urls=[]"],
    [{ engine: "vllm" }, {}, "model.generator.urls", "[http://127.0.0.1:8000]"],
    [{ ...vllm, urls: ["http://a:1", "http://a:1"] }, {}, "model.generator.urls", "once"],
    [vllm, { model: { generator_threads: 2 } }, "model.generator_threads", "1"],
    [vllm, { model: { generator_device: "webgpu" } }, "model.generator_device", "empty"],
    [{ ...vllm, api_key_env: "sk-12 34" }, {}, "model.generator.api_key_env", null],
    [sglang, { generation: { kv_on_update: "recompute" } }, "generation.kv_on_update", "keep, or engine=vllm"],
    [sglang, { generation: { top_k: 5, allow_truncated_sampling: true } }, "generation.top_k", "-1, or engine=vllm"],
  ];
  it.each(cases)("refuses what contradicts: %j %j", (generator, rest, key, nearest) => {
    expect(problemsIn(problems(generator, rest).join("\n"))).toMatchObject([{ key, nearest }]);
  });

  it("never repeats what may be the key itself", () => {
    expect(problems({ ...vllm, api_key_env: "sk-secret!" }).join()).not.toContain("secret");
  });

  it("refuses addresses with credentials, and unknown engines with the nearest", () => {
    const refused = (generator: Tree) => expect(() => configWith({ model: { generator } }));
    refused({ urls: ["http://me:secret@a:1"] }).toThrow("model.generator.urls");
    refused({ engine: "vlm" }).toThrow("nearest: vllm");
  });
});
