/** Probes of a server before a run: its format, its tokens, and reference requests that leave the trained model alone. */
import { describe, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { expect } from "vitest";
import { readCheckpoint } from "../../../src/model/checkpoint/HuggingFaceFolder.ts";
import { writableParameters } from "../../../src/model/graphs/Parameters.ts";
import { identify } from "../../../src/remote/tinker/Connection.ts";
import { hasWeightsOf } from "../../../src/remote/tinker/ownWeights.ts";
import { checkReference, chooseFormat, findForeignTokens, identifySkyRL } from "../../../src/remote/tinker/probes.ts";
import { datumOf } from "../../../src/remote/tinker/wire/Data.ts";
import { Prober } from "../../../src/remote/weights/Prober.ts";
import { trainerOptions } from "../../learner/model.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { vocabSize, writeTinyQwen3 } from "../tinyQwen3.ts";
import { fakeTinker } from "./FakeTinker.ts";
import { lora, modelAt } from "./remote.ts";

const { actor } = trainerOptions;
const ids = Int32Array.of(3, 5, 7, 9, 11, 13);
const data = [datumOf(ids)];

describe("a server", () => {
  it.live.each([
    ["Tinker API Mock", "skyrl-jax"],
    ["TuFT", "tuft"],
    ["VeRL Tinker Server", "verl"],
    ["Something else", "other"],
  ] as const)("that calls itself %s is %s", ([title, name]) =>
    Effect.gen(function* () {
      const { url } = yield* fakeTinker({ actor, title });
      expect(yield* identify(url)).toBe(name);
    }),
  );

  it("of Thinking Machines is known by its address", () => {
    expect(Effect.runSync(identify("https://tinker.thinkingmachines.dev/services/tinker-prod"))).toBe(
      "thinking-machines",
    );
  });

  it.live.each(["json", "protobuf"] as const)("that takes %s alone is spoken to so", (format) =>
    Effect.gen(function* () {
      const { url } = yield* fakeTinker({ actor, formats: [format] });
      const { model } = yield* modelAt(url);
      expect((yield* chooseFormat(model, "auto", data)).format).toBe(format);
    }),
  );

  it("that gives the loss of every token of a forward pass is SkyRL on JAX, whatever it is called", () => {
    expect(identifySkyRL("skyrl-jax", "auto", ["elementwise_loss", "logprobs"])).toBe("skyrl-jax");
    expect(identifySkyRL("skyrl-jax", "auto", ["logprobs"])).toBe("skyrl-train");
    expect(identifySkyRL("tuft", "tuft", ["logprobs"])).toBe("tuft");
    expect(identifySkyRL("skyrl-jax", "skyrl-jax", ["logprobs"])).toMatchObject({
      message: expect.stringMatching(/nearest: skyrl-train/),
    });
  });

  it("of another tokenizer gives a text less than chance", () => {
    expect(findForeignTokens(new Float32Array(8).fill(-2), 320)).toBeNull();
    expect(findForeignTokens(new Float32Array(8).fill(-12), 320)?.message).toMatch(/another tokenizer/);
    expect(findForeignTokens(new Float32Array(8).fill(Number.NaN), 320)?.message).toMatch(/not finite/);
  });
});

describe("a model that gives plain words less than chance", () => {
  const ownLogp = Effect.fnUntraced(function* (folder: string) {
    yield* writeTinyQwen3(folder, { deviation: 0.3 });
    const { config, parameters } = yield* readCheckpoint(folder);
    const rows = yield* Effect.promise(async () => {
      await using prober = await Prober.open(config, undefined, { ids, lengths: [1, 2, 3, 4, 5] });
      return await prober.scores(writableParameters(parameters).flat);
    });
    return Float32Array.from({ length: 5 }, (_, i) => {
      const row = rows.subarray(i * vocabSize, (i + 1) * vocabSize);
      return row[ids[i + 1]!]! - Math.log(row.reduce((sum, score) => sum + Math.exp(score), 0));
    });
  });

  it.live("is known by the weights in its folder", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const logp = yield* ownLogp(folder);
      expect(yield* hasWeightsOf(folder, ids, logp)).toBe(true);
      expect(
        yield* hasWeightsOf(
          folder,
          ids,
          logp.map((value) => value - 1),
        ),
      ).toBe(false);
      expect(yield* hasWeightsOf(folder, ids, logp.fill(Number.NaN))).toBe(false);
    }),
  );

  it.live("is not known where the folder has no weights", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      expect(yield* hasWeightsOf(folder, ids, new Float32Array(5).fill(-12))).toBe(false);
    }),
  );
});

describe("the reference's log-probabilities", () => {
  const tried = (script?: Parameters<typeof fakeTinker>[0]["script"]) =>
    Effect.gen(function* () {
      const server = yield* fakeTinker({ actor, ...(script === undefined ? {} : { script }) });
      const { connection, model } = yield* modelAt(server.url);
      return yield* Effect.result(checkReference(connection, { baseModel: "base", lora }, ids, model));
    });

  it.live("are refused where they are those of the model in training", () =>
    Effect.gen(function* () {
      // The fake has one model: requests for its base are answered by the trained weights.
      const result = yield* tried();
      expect(Result.isFailure(result) && result.failure.message).toMatch(
        /^actor.use_kl_loss, algorithm.use_kl_in_reward: true: .* nats off those of its trainer; nearest: false$/,
      );
    }),
  );

  it.live("are refused where there are none", () =>
    Effect.gen(function* () {
      const result = yield* tried(({ path }, response) => {
        if (path !== "asample") return false;
        response.writeHead(422, { "content-type": "application/json" });
        response.end('{"detail": "no prompt_logprobs"}');
        return true;
      });
      expect(Result.isFailure(result) && result.failure.message).toMatch(/could not be tried .*no prompt_logprobs/);
    }),
  );
});
