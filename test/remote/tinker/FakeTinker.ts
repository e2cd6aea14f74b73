/**
 * A Tinker server in this process, over a tiny model of ours. It computes with the graphs of the local learner, in either format and with
 * either reduction, and misbehaves as a test asks. Invariant: it knows only the wire, not what its client will do.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Effect } from "effect";
import type { CreditedBatch, TokenBatch } from "../../../src/domain/Batch.ts";
import { Actor } from "../../../src/learner/Actor.ts";
import { Critic, criticFrom } from "../../../src/learner/Critic.ts";
import { Lanes } from "../../../src/learner/lanes/Lanes.ts";
import type { Network } from "../../../src/learner/Network.ts";
import type { TrainerOptions } from "../../../src/learner/TrainerOptions.ts";
import type { Reduction } from "../../../src/remote/tinker/serverTraits.ts";
import { batchWith, offsetsOf } from "../../build/batches.ts";
import { criticDefaults, tiny, tinyParameters } from "../../learner/model.ts";

export interface ReceivedRequest {
  /** Index of the request among those to its path, from 0. */
  readonly nth: number;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: what a client sends
  readonly body: any;
}

/** Answers in the server's place; false leaves it to the server. */
export type Script = (request: ReceivedRequest, response: ServerResponse) => boolean;

export interface FakeOptions {
  readonly actor: TrainerOptions["actor"];
  readonly critic?: TrainerOptions["critic"];
  readonly reduction?: Reduction;
  readonly formats?: readonly ("json" | "protobuf")[];
  /** True if a repeated request under one number counts once. */
  readonly idempotent?: boolean;
  readonly title?: string;
  readonly models?: readonly string[];
  readonly script?: Script;
}

export interface Fake {
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  readonly requestsTo: (path: string) => readonly ReceivedRequest[];
  readonly actor: Actor;
  readonly critic: Critic;
  /** Gradients that passes have added so far, and steps that were taken. */
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
  readonly model: string;
  readonly seq: number;
  readonly config: Readonly<Record<string, number>>;
  readonly loss: string;
  readonly forwardOnly: boolean;
  readonly data: readonly Datum[];
}

// biome-ignore lint/suspicious/noExplicitAny: what a client sends
const passOfJson = (body: any, forwardOnly: boolean): Pass => {
  const input = body.forward_input ?? body.forward_backward_input;
  return {
    model: body.model_id,
    seq: body.seq_id,
    config: input.loss_fn_config ?? {},
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
  const config: Record<string, number> = {};
  const pass = { model: "", seq: 0, config, loss: "", forwardOnly: false, data: [] as Datum[] };
  message(new BinaryReader(bytes), bytes.length, {
    1: (r) => {
      pass.model = r.string();
    },
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
    5: (r) => {
      const entry = { name: "", value: 0 };
      inside(r, {
        1: (name) => {
          entry.name = name.string();
        },
        2: (value) => {
          entry.value = value.double();
        },
      });
      config[entry.name] = entry.value;
    },
    6: (r) => {
      pass.forwardOnly = r.bool();
    },
  });
  return pass;
};

const bytesOf = (values: Float32Array | BigInt64Array | Int32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

const outputProtobuf = (name: string, logprobs: readonly Float32Array[]): Uint8Array => {
  const writer = new BinaryWriter();
  const ends = logprobs.map((_, i) => logprobs.slice(0, i + 1).reduce((sum, { byteLength }) => sum + byteLength, 0));
  writer.tag(1, WireType.LengthDelimited).string("scalar");
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(name);
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
  const offsets = offsetsOf(ids.map(({ length }) => length));
  const mask = new Uint8Array(offsets.at(-1)!).fill(1);
  for (const from of offsets.slice(0, -1)) mask[from] = 0;
  return batchWith({ ids: Int32Array.from(ids.flat()), offsets, mask });
};

/** A tensor of the data over the positions of their batch. */
const spread = (batch: TokenBatch, data: readonly Datum[], name: string): Float32Array => {
  const into = new Float32Array(batch.ids.length);
  for (const [i, { tensors }] of data.entries()) into.set(tensors[name] ?? [], (batch.offsets[i] ?? 0) + 1);
  return into;
};

/** Gradients that passes have added since the last step, of `count` sequences. */
class Sum {
  #gradients: Float32Array[] | null = null;
  #count = 0;

  add(gradients: readonly Float32Array[], factor: number, count: number): void {
    this.#count += count;
    this.#gradients ??= gradients.map(({ length }) => new Float32Array(length));
    for (const [i, into] of this.#gradients.entries()) {
      const from = gradients[i]!;
      for (let j = 0; j < into.length; j++) into[j]! += factor * from[j]!;
    }
  }

  /** The sum of the gradients, or their mean over sequences; zeros without any. */
  take({ specs }: Network, reduction: Reduction): readonly Float32Array[] {
    const gradients = this.#gradients ?? specs.map(({ shape }) => new Float32Array(shape.reduce((a, b) => a * b, 1)));
    if (reduction === "mean")
      for (const g of gradients) for (let i = 0; i < g.length; i++) g[i]! /= Math.max(1, this.#count);
    this.#gradients = null;
    this.#count = 0;
    return gradients;
  }
}

/** A model on the server: its scores of every target, and its steps. */
interface Served {
  readonly field: "logprobs" | "values";
  readonly pass: (pass: Pass) => Promise<readonly Float32Array[]>;
  /** The norm of the gradient. */
  readonly step: (lr: number) => Promise<number>;
}

/** The values at the targets of each datum. */
const byDatum = (batch: TokenBatch, data: readonly Datum[], values: Float32Array): readonly Float32Array[] =>
  data.map((_, i) => values.slice((batch.offsets[i] ?? 0) + 1, batch.offsets[i + 1]));

class Brain implements Served {
  readonly field = "logprobs";
  readonly actor: Actor;
  readonly #reduction: Reduction;
  readonly #sum = new Sum();
  backward = 0;
  steps = 0;

  constructor(actor: Actor, reduction: Reduction) {
    this.actor = actor;
    this.#reduction = reduction;
  }

  async pass({ data, forwardOnly }: Pick<Pass, "data" | "forwardOnly">): Promise<readonly Float32Array[]> {
    const batch = batchOf(data);
    const logp = await this.actor.score(batch);
    if (!forwardOnly) await this.#add(batch, data);
    return byDatum(batch, data, logp);
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
    const result = await this.actor.gradient(batch, mini, targets, new Float32Array(batch.ids.length));
    if (result !== null) this.#sum.add(result.gradients, 1, data.length);
  }

  async step(lr: number): Promise<number> {
    this.steps++;
    const { network } = this.actor;
    return (await network.step(this.#sum.take(network, this.#reduction), lr)).norm ?? 0;
  }
}

/** SkyRL's server clips values by what the request says; the graphs of this one by what they were made with. */
const VALUE_CLIP = 1e6;

/**
 * A critic as SkyRL-Train has one: half of the squared error of clipped values, its mean over a sequence's tokens of weight 1, then over all sequences
 * since the last step.
 */
class Values implements Served {
  readonly field = "values";
  readonly critic: Critic;
  readonly #sum = new Sum();

  constructor(critic: Critic) {
    this.critic = critic;
  }

  async pass({ config, data, forwardOnly, loss }: Pass): Promise<readonly Float32Array[]> {
    const { critic } = this;
    const batch = batchOf(data);
    const values = byDatum(batch, data, await critic.values(batch));
    if (forwardOnly) return values;
    if (config.value_clip !== VALUE_CLIP) throw new Error(`this critic's values are clipped at ${VALUE_CLIP} alone`);
    if (loss !== "ppo") throw new Error(`Critic batches must use loss_fn='ppo' or 'ppo_critic', got '${loss}'`);
    const mask = Uint8Array.from(spread(batch, data, "weights"));
    const fields = { values: spread(batch, data, "values"), returns: spread(batch, data, "returns") };
    const credited: CreditedBatch = { ...batch, ...fields, mask, advantages: new Float32Array(mask.length) };
    const mini = data.map((_, i) => i);
    const result = await critic.gradient(credited, mini, new Float32Array(mask.length));
    if (result !== null) this.#sum.add(result.gradients, data.length, data.length);
    return [];
  }

  async step(lr: number): Promise<number> {
    const { network } = this.critic;
    return (await network.step(this.#sum.take(network, "mean"), lr)).norm ?? 0;
  }
}

/** Options of the loss that the wire calls `importance_sampling`: no clipping, a sum over tokens. */
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
  readonly received: ReceivedRequest[] = [];
  readonly #options: FakeOptions;
  readonly #brain: Brain;
  readonly #critic: Served;
  readonly #results = new Map<string, Promise<Result>>();
  readonly #bySequence = new Map<string, string>();
  #last: Promise<unknown> = Promise.resolve();
  #futures = 0;
  #sessions = 0;

  constructor(options: FakeOptions, brain: Brain, critic: Served) {
    this.#options = options;
    this.#brain = brain;
    this.#critic = critic;
  }

  #served(model: string): Served {
    return model === "c" ? this.#critic : this.#brain;
  }

  /** Runs work in order of arrival. */
  #future(work: () => Promise<Result>): string {
    const id = `f${this.#futures++}`;
    const mine = this.#last.then(work, work);
    this.#last = mine.catch(() => undefined);
    this.#results.set(id, mine);
    return id;
  }

  #numbered(key: string, work: () => Promise<Result>): string {
    const existing = this.#options.idempotent === true ? this.#bySequence.get(key) : undefined;
    const id = existing ?? this.#future(work);
    this.#bySequence.set(key, id);
    return id;
  }

  #pass(pass: Pass): string {
    return this.#numbered(`${pass.model}:${pass.seq}`, async () => {
      const served = this.#served(pass.model);
      const found = await served.pass(pass);
      const outputs = found.map((values) => ({
        [served.field]: { data: [...values], dtype: "float32", shape: [values.length] },
      }));
      return {
        json: { loss_fn_output_type: "scalar", loss_fn_outputs: outputs, metrics: {} },
        protobuf: outputProtobuf(served.field, found),
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

  /** The id of the future that the request polls; undefined if it polls none. */
  #begun(path: string, body: ReceivedRequest["body"], bytes: Uint8Array, protobuf: boolean): string | undefined {
    switch (path) {
      case "forward":
        return this.#pass(passOfJson(body, true));
      case "forward_backward":
        return this.#pass(protobuf ? passOfProtobuf(bytes) : passOfJson(body, false));
      case "optim_step":
        return this.#numbered(`${body.model_id}:${body.seq_id}`, async () => {
          const norm = await this.#served(body.model_id).step(body.adam_params.learning_rate);
          return { json: { metrics: { "fake/grad_norm": norm } } };
        });
      case "create_model":
        return this.#future(async () => ({ json: { model_id: body.model_role === "critic" ? "c" : "m" } }));
      case "save_weights_for_sampler":
        return this.#future(async () => ({ json: { sampling_session_id: `s${this.#sessions++}`, path: null } }));
      case "save_weights":
        return this.#future(async () => ({ json: { path: `tinker://${body.model_id}/weights/${body.path}` } }));
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
    const nth = this.received.filter((received) => received.path === path).length;
    const received: ReceivedRequest = { nth, path, headers: request.headers, body };
    this.received.push(received);
    if (this.#options.script?.(received, response) === true) return;
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
      const critic = await Critic.open(tiny, criticFrom(tiny, tinyParameters()), {
        actor: { ...serverActor(options.actor), loss_agg_mode: "seq-mean-token-mean" },
        critic: { ...(options.critic ?? criticDefaults), cliprange_value: VALUE_CLIP },
        lanes,
      });
      const fake = new Server(options, brain, new Values(critic));
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
        received: fake.received,
        requestsTo: (path) => fake.received.filter((received) => received.path === path),
        actor,
        critic,
        counts: () => ({ backward: brain.backward, steps: brain.steps }),
        die,
        close: async () => {
          await die();
          await actor.close();
          await critic.close();
          await lanes[Symbol.asyncDispose]();
        },
      };
    }),
    ({ close }) => Effect.promise(close),
  );
