/**
 * The common part of scripted generation servers: they record requests, have a table of a model's scores, can die during a request and come
 * back, and answer requests for tokens by a test's script. Each kind adds its own wire.
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type Listening, listening } from "../../httpStandIn.ts";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface TokenRequest {
  /** Index of the request from 0, probes not counted. */
  readonly nth: number;
  /** Label of the requested weights: the model's name or an adapter's. */
  readonly model: string;
  readonly ids: readonly number[];
  readonly maxTokens: number;
  /** Key under which prompts share caches. */
  readonly salt: string | undefined;
  readonly label: string;
}

export interface Span {
  readonly version: string;
  readonly start: number;
  readonly end: number;
}

export interface Choice {
  readonly ids: readonly number[];
  readonly logprobs?: readonly (number | null)[];
  readonly spans?: readonly Span[] | null;
  readonly finish?: string;
}

/** Answers a request for tokens, or makes a fault of its own; undefined answers as usual. */
export type Script = (
  request: TokenRequest,
  response: ServerResponse,
  fake: FakeServer,
) => Choice | "handled" | undefined;

export interface FakeOptions {
  readonly vocabSize: number;
  readonly model?: string;
  readonly version?: string;
  readonly maxModelLen?: number;
  readonly lora?: boolean;
  readonly key?: string;
  /** Scores of all tokens behind a prefix of the probe, under the weights of a label. */
  readonly score: (label: string, length: number) => Float32Array;
  /** Ids by its tokenizer. */
  readonly tokenize?: (text: string) => readonly number[];
  /** True if its log-probabilities are of the distribution that is sampled from. */
  readonly processed?: boolean;
  readonly maxNumSeqs?: number;
  readonly script?: Script;
  /** Time to load weights, milliseconds. */
  readonly loadMs?: number;
}

export interface FakeServer {
  readonly url: string;
  readonly received: readonly Received[];
  /** Labels of the weights that it was given, in order. */
  readonly adopted: readonly string[];
  readonly adapters: ReadonlySet<string>;
  /** Requests without an answer. */
  readonly open: () => number;
  paused: boolean;
  metrics: string;
  /** Message with which it refuses weights and adapters; undefined if it loads them. */
  refusesWeights: string | undefined;
  readonly die: () => Promise<void>;
  /** Listens again at the same address, with the weights of its start. */
  readonly restart: () => Promise<void>;
}

/** The first five tokens stand for the likeliest: any will do. */
export const NAMED = [0, 1, 2, 3, 4] as const;

export abstract class Fake<Options extends FakeOptions> implements FakeServer {
  readonly received: Received[] = [];
  readonly adopted: string[] = [];
  readonly adapters = new Set<string>();
  paused = false;
  metrics = "";
  refusesWeights: string | undefined;
  url = "";
  protected readonly options: Options;
  /** Label of its weights. */
  protected label = "default";
  #server: Listening | undefined;
  #tokenRequests = 0;

  constructor(options: Options) {
    this.options = options;
  }

  readonly open = () => this.#server?.open() ?? 0;

  async listen(): Promise<this> {
    this.#server = await listening(({ headers, path: whole, text }, response) => {
      const [path = ""] = whole.split("?");
      const body = text === "" ? {} : JSON.parse(text);
      this.received.push({ path: whole, headers, body });
      this.answer(path, { path, headers, body }, response);
    }, this.#server?.port);
    this.url = this.#server.url;
    return this;
  }

  readonly die = async () => this.#server?.die();

  readonly restart = async () => {
    this.label = "default";
    this.adapters.clear();
    await this.listen();
  };

  protected abstract answer(path: string, received: Received, response: ServerResponse): unknown;

  /** Does what takes as long as loading weights. */
  protected loaded(then: () => void): void {
    const { loadMs = 0 } = this.options;
    if (loadMs === 0) then();
    else setTimeout(then, loadMs);
  }

  protected given(label: string): void {
    this.adopted.push(label);
  }

  protected get tokenizer(): (text: string) => readonly number[] {
    return this.options.tokenize ?? (() => []);
  }

  /** Runs the script for a request; undefined if the script has answered by itself. */
  protected chosen(request: Omit<TokenRequest, "nth">, response: ServerResponse): Choice | undefined {
    const { script, vocabSize } = this.options;
    const { ids, maxTokens } = request;
    const choice = script?.({ nth: this.#tokenRequests++, ...request }, response, this);
    if (choice === "handled") return undefined;
    return choice ?? { ids: Array.from({ length: maxTokens }, (_, i) => (ids.length + i) % vocabSize) };
  }

  /** Log-probabilities of the named tokens behind a prefix of the probe. */
  protected likeliest(label: string, length: number, temperature: number): readonly number[] {
    const { processed = true, score } = this.options;
    const scores = score(label, length);
    const divisor = processed ? temperature : 1;
    const total = Math.log(scores.reduce((sum, each) => sum + Math.exp(each / divisor), 0));
    return NAMED.map((id) => (scores[id] ?? 0) / divisor - total);
  }
}
