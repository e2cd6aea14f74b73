/**
 * A Tinker server in this process, over a tiny model of ours: it computes what it is asked with the graphs of the local learner, in either format and with
 * either reduction, and behaves as badly as a test asks. Invariant: it knows nothing of what its client is about to do, only the wire.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Effect } from "effect";
import type { TokenBatch } from "../../../src/domain/Batch.ts";
import type { Reduction } from "../../../src/domain/TinkerServer.ts";
import { Actor } from "../../../src/learner/Actor.ts";
import { Lanes } from "../../../src/learner/lanes/Lanes.ts";
import type { TrainerOptions } from "../../../src/learner/Trainer.ts";
import { tiny, tinyParameters } from "../../learner/model.ts";

export interface Asked {
  /** Of requests to this path, from 0. */
  readonly nth: number;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: what a client sends
  readonly body: any;
}

/** Answers in the server's place; false leaves it to the server. */
export type Script = (asked: Asked, response: ServerResponse) => boolean;

export interface FakeOptions {
  readonly actor: TrainerOptions["actor"];
  readonly reduction?: Reduction;
  readonly formats?: readonly ("json" | "protobuf")[];
  /** Whether a request that comes twice under one number is one. */
  readonly idempotent?: boolean;
  readonly title?: string;
  readonly models?: readonly string[];
  readonly script?: Script;
}

export interface Fake {
  readonly url: string;
  readonly asked: readonly Asked[];
  readonly of: (path: string) => readonly Asked[];
  readonly actor: Actor;
  /** Gradients that passes added up to now, and steps that were taken. */
  readonly counts: () => { readonly backward: number; readonly steps: number };
  readonly die: () => Promise<void>;
}

export const json = (response: ServerResponse, status: number, body: unknown, headers = {}): true => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
  return true;
};

interface Datum {
  readonly tokens: readonly number[];
  readonly tensors: Readonly<Record<string, readonly number[]>>;
}

interface Pass {
  readonly seq: number;
  readonly loss: string;
  readonly forwardOnly: boolean;
  readonly data: readonly Datum[];
}

// biome-ignore lint/suspicious/noExplicitAny: what a client sends
const passOfJson = (body: any, forwardOnly: boolean): Pass => {
  const input = body.forward_input ?? body.forward_backward_input;
  return {
    seq: body.seq_id,
    loss: input.loss_fn,
    forwardOnly,
    // biome-ignore lint/suspicious/noExplicitAny: what a client sends
    data: input.data.map((datum: any) => ({
      tokens: datum.model_input.chunks[0].tokens,
      tensors: Object.fromEntries(
        // biome-ignore lint/suspicious/noExplicitAny: what a client sends
        Object.entries(datum.loss_fn_inputs).map(([name, tensor]) => [name, (tensor as any).data]),
      ),
    })),
  };
};

type Read = (reader: BinaryReader) => void;
const message = (reader: BinaryReader, end: number, fields: Readonly<Record<number, Read>>): void => {
  while (reader.pos < end) {
    const [field, wire] = reader.tag();
    const read = fields[field];
    if (read === undefined) reader.skip(wire, field);
    else read(reader);
  }
};
const inside = (reader: BinaryReader, fields: Readonly<Record<number, Read>>): void => {
  const length = reader.uint32();
  message(reader, reader.pos + length, fields);
};
const int32s = (bytes: Uint8Array): readonly number[] => [...new Int32Array(new Uint8Array(bytes).buffer)];

const tokensOf = (reader: BinaryReader): readonly number[] => {
  const found: number[] = [];
  const text = (r: BinaryReader) => inside(r, { 1: (bytes) => void found.push(...int32s(bytes.bytes())) });
  inside(reader, { 1: text });
  return found;
};

/** A name and the numbers of its tensor. */
const tensorOf = (reader: BinaryReader): readonly [string, readonly number[]] => {
  const entry = { name: "", dense: new Uint8Array(), dtype: 0 };
  inside(reader, {
    1: (r) => {
      entry.name = r.string();
    },
    2: (tensor) =>
      inside(tensor, {
        1: (r) => {
          entry.dense = new Uint8Array(r.bytes());
        },
        3: (r) => {
          entry.dtype = r.int32();
        },
      }),
  });
  const { buffer } = entry.dense;
  return [entry.name, entry.dtype === 1 ? [...new Float32Array(buffer)] : [...new BigInt64Array(buffer)].map(Number)];
};

const passOfProtobuf = (bytes: Uint8Array): Pass => {
  const pass = { seq: 0, loss: "", forwardOnly: false, data: [] as Datum[] };
  message(new BinaryReader(bytes), bytes.length, {
    2: (r) => {
      pass.seq = r.int32();
    },
    3: (r) => {
      const tokens: number[] = [];
      const tensors: (readonly [string, readonly number[]])[] = [];
      inside(r, {
        1: (chunk) => void tokens.push(...tokensOf(chunk)),
        2: (entry) => void tensors.push(tensorOf(entry)),
      });
      pass.data.push({ tokens, tensors: Object.fromEntries(tensors) });
    },
    4: (r) => {
      pass.loss = r.string();
    },
    6: (r) => {
      pass.forwardOnly = r.bool();
    },
  });
  return pass;
};

const bytesOf = (values: Float32Array | BigInt64Array | Int32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

const outputProtobuf = (logprobs: readonly Float32Array[]): Uint8Array => {
  const writer = new BinaryWriter();
  const ends = logprobs.map((_, i) => logprobs.slice(0, i + 1).reduce((sum, { byteLength }) => sum + byteLength, 0));
  writer.tag(1, WireType.LengthDelimited).string("scalar");
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string("logprobs");
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).bytes(Buffer.concat(logprobs.map(bytesOf)));
  writer.tag(2, WireType.LengthDelimited).bytes(bytesOf(BigInt64Array.from([0, ...ends], BigInt)));
  writer.tag(3, WireType.Varint).int32(1);
  writer.join().join();
  writer.tag(3, WireType.Varint).int64(logprobs.length);
  writer.join();
  return writer.finish();
};

/** The data as one batch of the learner's, every token but each first one a target. */
const batchOf = (data: readonly Datum[]): TokenBatch => {
  const ids = data.map(({ tensors, tokens }) => [...tokens, tensors.target_tokens?.at(-1) ?? 0]);
  const flat = ids.flat();
  const offsets = Int32Array.from([
    0,
    ...ids.map((_, i) => ids.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0)),
  ]);
  const mask = new Uint8Array(flat.length).fill(1);
  for (const from of offsets.slice(0, -1)) mask[from] = 0;
  const zeros = new Float32Array(flat.length);
  const each = new Int32Array(data.length);
  return {
    window: 0,
    ids: Int32Array.from(flat),
    offsets,
    mask,
    mu: zeros,
    versions: new Int32Array(flat.length),
    rewards: zeros,
    placement: "sequence",
    groups: each,
    members: each,
    sequenceIndex: each,
    temperature: 1,
    keptRatio: 1,
  };
};

/** A tensor of the data over the positions of their batch. */
const spread = (batch: TokenBatch, data: readonly Datum[], name: string): Float32Array => {
  const into = new Float32Array(batch.ids.length);
  for (const [i, { tensors }] of data.entries()) into.set(tensors[name] ?? [], (batch.offsets[i] ?? 0) + 1);
  return into;
};

class Brain {
  readonly actor: Actor;
  readonly #reduction: Reduction;
  #gradients: Float32Array[] | null = null;
  #count = 0;
  backward = 0;
  steps = 0;

  constructor(actor: Actor, reduction: Reduction) {
    this.actor = actor;
    this.#reduction = reduction;
  }

  async pass({ data, forwardOnly }: Pass): Promise<readonly Float32Array[]> {
    const batch = batchOf(data);
    const logp = await this.actor.score(batch);
    if (!forwardOnly) await this.#add(batch, data);
    return data.map((_, i) => logp.slice((batch.offsets[i] ?? 0) + 1, batch.offsets[i + 1]));
  }

  /** Adds the gradient of -sum exp(lp - logprobs) A, each sequence's over its length where that is the server's way. */
  async #add(batch: TokenBatch, data: readonly Datum[]): Promise<void> {
    this.backward++;
    const mini = data.map((_, i) => i);
    const advantages = spread(batch, data, "advantages");
    data.forEach(({ tokens }, i) => {
      const factor = data.length / (this.#reduction === "mean" ? tokens.length : 1);
      for (let t = batch.offsets[i] ?? 0; t < (batch.offsets[i + 1] ?? 0); t++) advantages[t]! *= factor;
    });
    const targets = {
      old: spread(batch, data, "logprobs"),
      advantages,
      importance: new Float32Array(batch.ids.length).fill(1),
      reference: undefined,
    };
    const made = await this.actor.gradient(batch, mini, targets, new Float32Array(batch.ids.length));
    if (made === null) return;
    this.#count += data.length;
    this.#gradients ??= made.gradients.map(({ length }) => new Float32Array(length));
    for (const [i, into] of this.#gradients.entries()) {
      const from = made.gradients[i]!;
      for (let j = 0; j < into.length; j++) into[j]! += from[j]!;
    }
  }

  async step(lr: number): Promise<number> {
    this.steps++;
    const { specs } = this.actor.network;
    const gradients = this.#gradients ?? specs.map(({ shape }) => new Float32Array(shape.reduce((a, b) => a * b, 1)));
    if (this.#reduction === "mean")
      for (const g of gradients) for (let i = 0; i < g.length; i++) g[i]! /= Math.max(1, this.#count);
    const { norm } = await this.actor.network.step(gradients, lr);
    this.#gradients = null;
    this.#count = 0;
    return norm;
  }
}

/** Of the loss that the wire names `importance_sampling`: no clipping, a sum over tokens. */
const serverActor = (actor: TrainerOptions["actor"]): TrainerOptions["actor"] => ({
  ...actor,
  policy_loss: "ppo",
  clip_ratio_low: 1,
  clip_ratio_high: 1_000,
  clip_ratio_c: 0,
  entropy_coeff: 0,
  use_kl_loss: false,
  loss_agg_mode: "seq-mean-token-sum",
  use_prefix_grouper: false,
});

type Result = { readonly json: unknown; readonly protobuf?: Uint8Array };

class Server {
  readonly asked: Asked[] = [];
  readonly #options: FakeOptions;
  readonly #brain: Brain;
  readonly #results = new Map<string, Promise<Result>>();
  readonly #bySequence = new Map<string, string>();
  #last: Promise<unknown> = Promise.resolve();
  #futures = 0;
  #sessions = 0;

  constructor(options: FakeOptions, brain: Brain) {
    this.#options = options;
    this.#brain = brain;
  }

  /** Work in the order in which it came. */
  #future(work: () => Promise<Result>): string {
    const id = `f${this.#futures++}`;
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => undefined);
    this.#results.set(id, mine);
    return id;
  }

  #numbered(key: string, work: () => Promise<Result>): string {
    const known = this.#options.idempotent === true ? this.#bySequence.get(key) : undefined;
    const id = known ?? this.#future(work);
    this.#bySequence.set(key, id);
    return id;
  }

  #pass(pass: Pass): string {
    return this.#numbered(`m:${pass.seq}`, async () => {
      const logprobs = await this.#brain.pass(pass);
      const outputs = logprobs.map((values) => ({
        logprobs: { data: [...values], dtype: "float32", shape: [values.length] },
      }));
      return {
        json: { loss_fn_output_type: "scalar", loss_fn_outputs: outputs, metrics: {} },
        protobuf: outputProtobuf(logprobs),
      };
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a client sends
  async #sample(body: any): Promise<Result> {
    const prompt: number[] = body.prompt.chunks[0].tokens;
    const { max_tokens: most, seed } = body.sampling_params;
    const tokens = Array.from({ length: most }, (_, i) => (seed + 7 * i) % tiny.vocabSize);
    const whole = [...prompt, ...tokens];
    const [logp = new Float32Array()] = await this.#brain.pass({
      seq: 0,
      loss: "cross_entropy",
      forwardOnly: true,
      data: [{ tokens: whole.slice(0, -1), tensors: { target_tokens: whole.slice(1) } }],
    });
    return {
      json: {
        sequences: [{ tokens, logprobs: [...logp.slice(prompt.length - 1)], stop_reason: "length" }],
        prompt_logprobs: body.prompt_logprobs === true ? [null, ...logp.slice(0, prompt.length - 1)] : null,
      },
    };
  }

  /** The id of the future that the request asks for; undefined where it is answered by itself. */
  #begun(path: string, body: Asked["body"], bytes: Uint8Array, protobuf: boolean): string | undefined {
    switch (path) {
      case "forward":
        return this.#pass(passOfJson(body, true));
      case "forward_backward":
        return this.#pass(protobuf ? passOfProtobuf(bytes) : passOfJson(body, false));
      case "optim_step":
        return this.#numbered(`m:${body.seq_id}`, async () => {
          const norm = await this.#brain.step(body.adam_params.learning_rate);
          return { json: { metrics: { "fake/grad_norm": norm } } };
        });
      case "create_model":
        return this.#future(async () => ({ json: { model_id: "m" } }));
      case "save_weights_for_sampler":
        return this.#future(async () => ({ json: { sampling_session_id: `s${this.#sessions++}`, path: null } }));
      case "save_weights":
        return this.#future(async () => ({ json: { path: `tinker://m/weights/${body.path}` } }));
      case "load_weights":
      case "unload_model":
        return this.#future(async () => ({ json: { type: path } }));
      case "asample":
        return this.#future(() => this.#sample(body));
      default:
        return undefined;
    }
  }

  async #retrieve(id: string, accepts: boolean, response: ServerResponse): Promise<void> {
    const pending = this.#results.get(id);
    if (pending === undefined) return void json(response, 404, { detail: "Future not found" });
    try {
      const result = await pending;
      if (accepts && result.protobuf !== undefined && this.#formats.includes("protobuf")) {
        response.writeHead(200, { "content-type": "application/x-protobuf" });
        return void response.end(result.protobuf);
      }
      json(response, 200, result.json);
    } catch (error) {
      json(response, 400, { detail: String(error) });
    }
  }

  get #formats(): readonly string[] {
    return this.#options.formats ?? ["json"];
  }

  async answer(request: IncomingMessage, bytes: Uint8Array, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "").replace("/api/v1/", "");
    const protobuf = request.headers["content-type"]?.includes("protobuf") === true;
    const body = protobuf || bytes.length === 0 ? null : JSON.parse(Buffer.from(bytes).toString());
    const nth = this.asked.filter((one) => one.path === path).length;
    const one: Asked = { nth, path, headers: request.headers, body };
    this.asked.push(one);
    if (this.#options.script?.(one, response) === true) return;
    const accepts = request.headers.accept?.includes("protobuf") === true;
    if (path === "retrieve_future") return this.#retrieve(body.request_id, accepts, response);
    if (path === "/openapi.json") return void json(response, 200, { info: { title: this.#options.title ?? "Fake" } });
    if (path === "get_server_capabilities") {
      const models = (this.#options.models ?? ["base"]).map((model_name) => ({ model_name }));
      return void json(response, 200, { supported_models: models });
    }
    if (path === "create_session") return void json(response, 201, { session_id: "session" });
    if (path === "session_heartbeat") return void json(response, 200, { type: "session_heartbeat" });
    if (path.startsWith("forward") && !this.#formats.includes(protobuf ? "protobuf" : "json")) {
      return void json(response, 415, { detail: "Unsupported media type" });
    }
    const id = this.#begun(path, body, bytes, protobuf);
    json(response, id === undefined ? 404 : 200, id === undefined ? { detail: "Not Found" } : { request_id: id });
  }
}

/** Serves while the scope lives. */
export const fakeTinker = (options: FakeOptions) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Fake & { readonly close: () => Promise<void> }> => {
      const lanes = await Lanes.open(1, 1);
      const algorithm = { correction: "none", correction_cap: 2 } as const;
      const actor = await Actor.open(tiny, tinyParameters(), { actor: serverActor(options.actor), algorithm, lanes });
      const brain = new Brain(actor, options.reduction ?? "sum");
      const fake = new Server(options, brain);
      const server = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => void fake.answer(request, Buffer.concat(chunks), response));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const die = () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        });
      return {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        asked: fake.asked,
        of: (path) => fake.asked.filter((one) => one.path === path),
        actor,
        counts: () => ({ backward: brain.backward, steps: brain.steps }),
        die,
        close: async () => {
          await die();
          await actor.close();
          await lanes[Symbol.asyncDispose]();
        },
      };
    }),
    ({ close }) => Effect.promise(close),
  );
