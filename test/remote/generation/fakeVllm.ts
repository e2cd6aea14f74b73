/** A vLLM server in this process, over a table of log-probabilities. Its wire was recorded from 0.32 (test/remote/generation/recorded). */
import type { ServerResponse } from "node:http";
import { Effect } from "effect";
import { json } from "../../httpStandIn.ts";
import { type Choice, Fake, type FakeOptions, type FakeServer, NAMED, type Received } from "./fakeServer.ts";

export interface VllmOptions extends FakeOptions {
  /** Without it, the endpoints that change weights are missing. */
  readonly devMode?: boolean;
  readonly scaleOut?: boolean;
  readonly device?: string;
}

const refused = (response: ServerResponse, status: number, message: string): void =>
  json(response, status, { error: { message, type: "BadRequestError", param: null, code: status } });

/** An answer in vLLM's form. */
export const generated = ({ finish = "length", ids, logprobs, spans }: Choice, label: string) => ({
  request_id: "generate-tokens-1",
  model: "m",
  usage: { prompt_tokens: 3, completion_tokens: ids.length },
  prompt_logprobs: null,
  choices: [
    {
      index: 0,
      finish_reason: finish,
      stop_reason: null,
      token_ids: ids,
      weight_versions: spans === undefined ? [{ version: label, start: 0, end: ids.length }] : spans,
      logprobs: {
        content: ids.map((token_id, i) => ({
          token_id,
          logprob: logprobs === undefined ? -1 : logprobs[i],
          rank: 1,
          top_logprobs: [],
        })),
      },
    },
  ],
});

class Vllm extends Fake<VllmOptions> {
  protected answer(path: string, { body, headers }: Received, response: ServerResponse): unknown {
    const { devMode = true, key, lora = false, model = "m", scaleOut = true, version = "0.32.0" } = this.options;
    const guarded = /^\/(v1|inference)\//.test(path);
    if (guarded && key !== undefined && headers.authorization !== `Bearer ${key}`) {
      return json(response, 401, { error: "Unauthorized" });
    }
    switch (path) {
      case "/version":
        return json(response, 200, { version });
      case "/v1/models": {
        const base = { id: model, parent: null, max_model_len: this.options.maxModelLen ?? 512 };
        return json(response, 200, { data: [base, ...[...this.adapters].map((id) => ({ id, parent: model }))] });
      }
      case "/metrics":
        response.writeHead(200, { "content-type": "text/plain" });
        return response.end(this.metrics);
      case "/tokenize":
        return json(response, 200, { tokens: this.tokenizer(String(body.prompt)) });
      case "/inference/v1/generate":
        return scaleOut ? this.#generate(body, response) : refused(response, 403, "disabled");
      case "/v1/load_lora_adapter":
        return lora ? this.#load(body, response) : json(response, 404, { detail: "Not Found" });
      case "/v1/unload_lora_adapter":
        this.adapters.delete(String(body.lora_name));
        return response.end("Success");
    }
    return devMode ? this.#control(path, body, response) : json(response, 404, { detail: "Not Found" });
  }

  #load({ lora_name: name, lora_path: path }: Received["body"], response: ServerResponse): unknown {
    if (name === "" || path === "") return refused(response, 400, "Both 'lora_name' and 'lora_path' must be provided.");
    this.adapters.add(String(name));
    this.given(String(name));
    response.end("Success: LoRA adapter added successfully.");
  }

  #control(path: string, body: Received["body"], response: ServerResponse): unknown {
    const { device = "cuda", maxNumSeqs = 8 } = this.options;
    switch (path) {
      case "/is_paused":
        return json(response, 200, { is_paused: this.paused });
      case "/pause":
        this.paused = true;
        return json(response, 200, { status: "paused" });
      case "/resume":
        this.paused = false;
        return json(response, 200, { status: "resumed" });
      case "/collective_rpc":
        return this.loaded(() => json(response, 200, { results: [null] }));
      case "/update_weight_version":
        this.label = String(body.new_version);
        this.given(this.label);
        return json(response, 200, { success: true, new_version: this.label });
      case "/weight_info":
        return json(response, 200, { weight_version: this.label });
      case "/server_info":
        return json(response, 200, {
          vllm_config: { scheduler_config: { max_num_seqs: maxNumSeqs }, device_config: { device } },
        });
    }
    json(response, 404, { detail: "Not Found" });
  }

  #generate(body: Received["body"], response: ServerResponse): unknown {
    const { model: served = "m", vocabSize } = this.options;
    const ids = body.token_ids as readonly number[];
    const params = body.sampling_params as Readonly<Record<string, unknown>>;
    const model = String(body.model);
    const label = this.adapters.has(model) ? model : this.label;
    if (model !== served && !this.adapters.has(model)) {
      return refused(response, 404, `The model \`${model}\` does not exist.`);
    }
    const foreign = ids.find((id) => id >= vocabSize);
    if (foreign !== undefined) return refused(response, 400, `Token id ${foreign} is out of vocabulary`);
    if (params.logprobs === NAMED.length) {
      return json(response, 200, this.#named(label, ids.length, Number(params.temperature)));
    }
    // The check's own tokens have one id.
    if (ids.length === 1) return json(response, 200, generated({ ids: [1] }, label));
    const salt = body.cache_salt as string | undefined;
    const choice = this.chosen({ model, ids, maxTokens: Number(params.max_tokens), salt, label }, response);
    if (choice !== undefined) json(response, 200, generated(choice, label));
  }

  #named(label: string, length: number, temperature: number) {
    const logprobs = this.likeliest(label, length, temperature);
    const top_logprobs = NAMED.map((id, i) => ({ token_id: id, logprob: logprobs[i], rank: id }));
    const answer = generated({ ids: [1] }, label);
    const [choice] = answer.choices;
    const content = choice?.logprobs.content.map((token) => ({ ...token, top_logprobs })) ?? [];
    return { ...answer, choices: [{ ...choice, logprobs: { content } }] };
  }
}

/** Serves while the scope lives. */
export const fakeVllm = (options: VllmOptions) =>
  Effect.acquireRelease(
    Effect.promise((): Promise<FakeServer> => new Vllm(options).listen()),
    ({ die }) => Effect.promise(die),
  );
