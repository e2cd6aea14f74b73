/**
 * An SGLang server in this process, over a table of log-probabilities. Its wire follows SGLang's documentation and the source of its HTTP
 * server; no answer of a real one is recorded.
 */
import type { ServerResponse } from "node:http";
import { Effect } from "effect";
import { json } from "../../httpStandIn.ts";
import { type Choice, Fake, type FakeOptions, type FakeServer, NAMED, type Received } from "./fakeServer.ts";

export interface SglangOptions extends FakeOptions {
  /** Older servers have other names for their own description, and list no adapters among the models. */
  readonly older?: boolean;
  /** True if an answer says which weights sampled each token; else it names the last weights alone. */
  readonly tellsSpans?: boolean;
  readonly maxLoraRank?: number;
  /** Without it, weights cannot change while requests run. */
  readonly pauses?: boolean;
}

const error = (response: ServerResponse, status: number, message: string): void =>
  json(response, status, { error: { message } });

const notFound = (response: ServerResponse): void => json(response, 404, { detail: "Not Found" });

/** An answer in SGLang's form. */
export const generated = ({ finish = "length", ids, logprobs, spans }: Choice, label: string) => {
  const reason = finish === "stop" ? { type: finish, matched: ids.at(-1) } : { type: finish, length: ids.length };
  return {
    text: "",
    output_ids: ids,
    meta_info: {
      id: "r",
      finish_reason: reason,
      prompt_tokens: 3,
      completion_tokens: ids.length,
      cached_tokens: 0,
      e2e_latency: 0.01,
      weight_version: label,
      ...(spans === undefined || spans === null ? {} : { weight_versions: spans }),
      output_token_logprobs: ids.map((id, i) => [logprobs === undefined ? -1 : logprobs[i], id, null]),
    },
  };
};

/** The answer to a request that was ended before its first token. */
export const aborted = {
  text: "",
  meta_info: { id: "r", finish_reason: { type: "abort", message: "Abort before prefill" }, weight_version: "default" },
};

class Sglang extends Fake<SglangOptions> {
  protected answer(path: string, { body, headers }: Received, response: ServerResponse): unknown {
    const { key } = this.options;
    if (key !== undefined && path !== "/metrics" && headers.authorization !== `Bearer ${key}`) {
      return json(response, 401, { error: "Unauthorized" });
    }
    switch (path) {
      case "/generate":
        return this.#generate(body, response);
      case "/tokenize":
        return json(response, 200, { tokens: this.tokenizer(String(body.prompt)), count: 0, max_model_len: 512 });
      case "/load_lora_adapter":
        return this.#load(String(body.lora_name), String(body.lora_path), response);
      case "/unload_lora_adapter":
        this.adapters.delete(String(body.lora_name));
        return json(response, 200, { success: true, loaded_adapters: this.#loaded });
      case "/metrics":
        response.writeHead(200, { "content-type": "text/plain" });
        return response.end(this.metrics);
    }
    return this.#describe(path, response) ?? this.#control(path, body, response);
  }

  /** Answers requests about the server; undefined for any other path. */
  #describe(path: string, response: ServerResponse): true | undefined {
    const {
      lora = false,
      maxLoraRank = 64,
      maxNumSeqs = 8,
      model = "m",
      older = false,
      version = "0.5.8",
    } = this.options;
    const descriptions: Readonly<Record<string, unknown>> = {
      [older ? "/get_server_info" : "/server_info"]: {
        version,
        max_running_requests: maxNumSeqs,
        enable_lora: lora,
        max_lora_rank: lora ? maxLoraRank : null,
      },
      [older ? "/get_weight_version" : "/model_info"]: { model_path: model, weight_version: this.label },
      "/v1/models": { object: "list", data: this.#models },
    };
    if (!(path in descriptions)) return undefined;
    json(response, 200, descriptions[path]);
    return true;
  }

  get #models() {
    const { maxModelLen = 512, model = "m", older = false } = this.options;
    // After an exchange of weights it calls its model by their folder.
    const id = this.label === "default" ? model : `/weights/${this.label}`;
    const base = { id, object: "model", root: id, parent: null, max_model_len: maxModelLen };
    const adapters = older ? [] : [...this.adapters].map((name) => ({ id: name, parent: id, max_model_len: null }));
    return [base, ...adapters];
  }

  get #loaded() {
    return Object.fromEntries([...this.adapters].map((name) => [name, `/weights/${name}`]));
  }

  #load(name: string, path: string, response: ServerResponse): unknown {
    const { lora = false } = this.options;
    const failed = (error_message: string) =>
      json(response, 400, { success: false, error_message, loaded_adapters: this.#loaded });
    if (!lora) return failed("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.");
    if (this.adapters.has(name)) return failed(`LoRA adapter with name ${name} already loaded.`);
    if (this.refusesWeights !== undefined) return failed(`${this.refusesWeights}: ${path}`);
    this.adapters.add(name);
    this.given(name);
    json(response, 200, { success: true, loaded_adapters: this.#loaded });
  }

  #control(path: string, body: Received["body"], response: ServerResponse): unknown {
    const { pauses = true } = this.options;
    if (!pauses) return notFound(response);
    switch (path) {
      case "/pause_generation":
      case "/continue_generation":
        this.paused = path === "/pause_generation";
        return json(response, 200, { status: "ok", message: "Generation paused or continued successfully." });
      case "/update_weights_from_disk":
        if (this.refusesWeights !== undefined) {
          return json(response, 400, { success: false, message: this.refusesWeights });
        }
        return this.loaded(() => {
          this.label = String(body.weight_version);
          this.given(this.label);
          json(response, 200, { success: true, message: "Succeeded to update model weights.", num_paused_requests: 0 });
        });
    }
    notFound(response);
  }

  #generate(body: Received["body"], response: ServerResponse): unknown {
    const { tellsSpans = false, vocabSize } = this.options;
    const ids = body.input_ids as readonly number[];
    const params = body.sampling_params as Readonly<Record<string, unknown>>;
    const adapter = body.lora_path as string | undefined;
    if (adapter !== undefined && !this.adapters.has(adapter)) {
      return error(response, 400, `The following requested LoRA adapters are not loaded: {'${adapter}'}`);
    }
    const foreign = ids.find((id) => id >= vocabSize);
    if (foreign !== undefined) return error(response, 400, `The input_ids contains values greater than the vocab size`);
    const label = adapter ?? this.label;
    if (body.top_logprobs_num !== undefined) {
      return json(response, 200, this.#named(label, ids.length, Number(params.temperature)));
    }
    // The check's own tokens have one id.
    if (ids.length === 1) return json(response, 200, generated({ ids: [1] }, label));
    const salt = body.extra_key as string | undefined;
    const maxTokens = Number(params.max_new_tokens);
    const choice = this.chosen({ model: adapter ?? "", ids, maxTokens, salt, label }, response);
    if (choice === undefined) return;
    const whole = [{ version: label, start: 0, end: choice.ids.length }];
    json(response, 200, generated(tellsSpans ? { spans: whole, ...choice } : choice, label));
  }

  #named(label: string, length: number, temperature: number) {
    const logprobs = this.likeliest(label, length, temperature);
    const answer = generated({ ids: [1] }, label);
    const output_top_logprobs = [NAMED.map((id, i) => [logprobs[i], id, null])];
    return { ...answer, meta_info: { ...answer.meta_info, output_top_logprobs } };
  }
}

/** Serves while the scope lives. */
export const fakeSglang = (options: SglangOptions) =>
  Effect.acquireRelease(
    Effect.promise((): Promise<FakeServer> => new Sglang(options).listen()),
    ({ die }) => Effect.promise(die),
  );
