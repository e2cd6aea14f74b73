/**
 * A vLLM server in this process: its wire as recorded from 0.32 (test/remote/generation/recorded), over a table of log-probabilities, so that what
 * it answers can be known. Faults are scripted request by request; it may die in the middle of one, and come back.
 */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Effect } from "effect";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface TokenRequest {
  /** From 0, of requests for tokens behind a prompt that is no probe. */
  readonly nth: number;
  readonly model: string;
  readonly ids: readonly number[];
  readonly maxTokens: number;
  readonly salt: string | undefined;
  readonly label: string;
}

export interface Choice {
  readonly ids: readonly number[];
  readonly logprobs?: readonly (number | null)[];
  readonly spans?: readonly { readonly version: string; readonly start: number; readonly end: number }[] | null;
  readonly finish?: string;
}

/** What becomes of a request for tokens: an answer, or a fault of its own making; undefined answers as usual. */
export type Script = (
  request: TokenRequest,
  response: ServerResponse,
  fake: FakeVllm,
) => Choice | "handled" | undefined;

export interface FakeOptions {
  readonly vocabSize: number;
  readonly model?: string;
  readonly version?: string;
  readonly maxModelLen?: number;
  /** Without it the endpoints that change weights are not there. */
  readonly devMode?: boolean;
  readonly scaleOut?: boolean;
  readonly lora?: boolean;
  readonly key?: string;
  /** Scores of all tokens behind a beginning of the probe, under the weights of a label. */
  readonly score: (label: string, length: number) => Float32Array;
  /** Ids by its tokenizer. */
  readonly tokenize?: (text: string) => readonly number[];
  readonly processed?: boolean;
  readonly maxNumSeqs?: number;
  readonly device?: string;
  readonly script?: Script;
}

export interface FakeVllm {
  readonly url: string;
  readonly received: readonly Received[];
  /** Labels that it was given, in order. */
  readonly adopted: readonly string[];
  readonly adapters: ReadonlySet<string>;
  /** Requests without an answer. */
  readonly open: () => number;
  paused: boolean;
  metrics: string;
  readonly die: () => Promise<void>;
  /** Listens again at the same address, with the weights of its start. */
  readonly restart: () => Promise<void>;
}

export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

const refused = (response: ServerResponse, status: number, message: string): void =>
  json(response, status, { error: { message, type: "BadRequestError", param: null, code: status } });

/** As vLLM writes it. */
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

class Fake implements FakeVllm {
  readonly received: Received[] = [];
  readonly adopted: string[] = [];
  readonly adapters = new Set<string>();
  paused = false;
  metrics = "";
  url = "";
  readonly #options: FakeOptions;
  #server: Server | undefined;
  #label = "default";
  #open = 0;
  #asked = 0;
  #port = 0;

  constructor(options: FakeOptions) {
    this.#options = options;
  }

  readonly open = () => this.#open;

  async listen(): Promise<this> {
    this.#server = createServer((request, response) => {
      this.#open++;
      response.on("close", () => this.#open--);
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const [path = ""] = (request.url ?? "").split("?");
        const received = { path, headers: request.headers, body: text === "" ? {} : JSON.parse(text) };
        this.received.push({ ...received, path: request.url ?? "" });
        this.#answer(path, received, response);
      });
    });
    const server = this.#server;
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
    return this;
  }

  readonly die = () =>
    new Promise<void>((resolve) => {
      this.#server?.close(() => resolve());
      this.#server?.closeAllConnections();
    });

  readonly restart = async () => {
    this.#label = "default";
    this.adapters.clear();
    await this.listen();
  };

  #answer(path: string, { body, headers }: Received, response: ServerResponse): unknown {
    const { devMode = true, key, lora = false, model = "m", scaleOut = true, version = "0.32.0" } = this.#options;
    const guarded = /^\/(v1|inference)\//.test(path);
    if (guarded && key !== undefined && headers.authorization !== `Bearer ${key}`) {
      return json(response, 401, { error: "Unauthorized" });
    }
    switch (path) {
      case "/version":
        return json(response, 200, { version });
      case "/v1/models": {
        const base = { id: model, parent: null, max_model_len: this.#options.maxModelLen ?? 512 };
        return json(response, 200, { data: [base, ...[...this.adapters].map((id) => ({ id, parent: model }))] });
      }
      case "/metrics":
        response.writeHead(200, { "content-type": "text/plain" });
        return response.end(this.metrics);
      case "/tokenize":
        return json(response, 200, { tokens: this.#options.tokenize?.(String(body.prompt)) ?? [] });
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
    this.adopted.push(String(name));
    response.end("Success: LoRA adapter added successfully.");
  }

  #control(path: string, body: Received["body"], response: ServerResponse): unknown {
    const { device = "cuda", maxNumSeqs = 8 } = this.#options;
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
        return json(response, 200, { results: [null] });
      case "/update_weight_version":
        this.#label = String(body.new_version);
        this.adopted.push(this.#label);
        return json(response, 200, { success: true, new_version: this.#label });
      case "/weight_info":
        return json(response, 200, { weight_version: this.#label });
      case "/server_info":
        return json(response, 200, {
          vllm_config: { scheduler_config: { max_num_seqs: maxNumSeqs }, device_config: { device } },
        });
    }
    json(response, 404, { detail: "Not Found" });
  }

  #generate(body: Received["body"], response: ServerResponse): unknown {
    const { model: served = "m", score, vocabSize } = this.#options;
    const ids = body.token_ids as readonly number[];
    const params = body.sampling_params as Readonly<Record<string, unknown>>;
    const model = String(body.model);
    const label = this.adapters.has(model) ? model : this.#label;
    if (model !== served && !this.adapters.has(model)) {
      return refused(response, 404, `The model \`${model}\` does not exist.`);
    }
    const foreign = ids.find((id) => id >= vocabSize);
    if (foreign !== undefined) return refused(response, 400, `Token id ${foreign} is out of vocabulary`);
    if (params.logprobs === 5) {
      return json(response, 200, this.#likeliest(score(label, ids.length), Number(params.temperature), label));
    }
    // The check's own tokens have one id.
    if (ids.length === 1) return json(response, 200, generated({ ids: [1] }, label));
    const request: TokenRequest = {
      nth: this.#asked++,
      model,
      ids,
      maxTokens: Number(params.max_tokens),
      salt: body.cache_salt as string | undefined,
      label,
    };
    const choice = this.#options.script?.(request, response, this);
    if (choice === "handled") return;
    const usual: Choice = { ids: Array.from({ length: request.maxTokens }, (_, i) => (ids.length + i) % vocabSize) };
    json(response, 200, generated(choice ?? usual, label));
  }

  /** The first five tokens stand for the likeliest: any will do. */
  #likeliest(scores: Float32Array, temperature: number, label: string) {
    const { processed = true } = this.#options;
    const divisor = processed ? temperature : 1;
    const total = Math.log(scores.reduce((sum, score) => sum + Math.exp(score / divisor), 0));
    const top_logprobs = [0, 1, 2, 3, 4].map((id) => ({
      token_id: id,
      logprob: (scores[id] ?? 0) / divisor - total,
      rank: id,
    }));
    const answer = generated({ ids: [1] }, label);
    const [choice] = answer.choices;
    const content = choice?.logprobs.content.map((token) => ({ ...token, top_logprobs })) ?? [];
    return { ...answer, choices: [{ ...choice, logprobs: { content } }] };
  }
}

/** Serves while the scope lives. */
export const fakeVllm = (options: FakeOptions) =>
  Effect.acquireRelease(
    Effect.promise((): Promise<FakeVllm> => new Fake(options).listen()),
    ({ die }) => Effect.promise(die),
  );
