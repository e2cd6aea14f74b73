/** Requests made to hurt the endpoint of agents. Each is drawn from a stream, so that a seed makes the same ones again. */
import type { Random } from "../../src/domain/Random.ts";
import {
  type Attack,
  bodyOf,
  call,
  callStatuses,
  headOf,
  type MakeAttack,
  type Pause,
  paths,
  type RequestParts,
  refusedFrom,
  type Target,
  written,
} from "./attacks.ts";

const noise = (random: Random, length: number): Buffer => Buffer.from(Array.from({ length }, () => random.int(256)));

const nested = (levels: number, inner = "1"): string => `${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;

/** Values of wrong types for any field. */
const strangeValues: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  "",
  "x",
  [],
  [[]],
  {},
  { type: "text" },
  { type: "function", function: {} },
  [{ role: "user" }],
  [{ role: "tool", tool_call_id: "nobody", content: "x" }],
  [{ role: "assistant", content: null, tool_calls: [{ id: "c", function: { name: "f", arguments: "{" } }] }],
  [{ type: "item_reference", id: "fc_00_99999999" }],
  "resp_00000000",
  { __proto__: null, toString: 1, constructor: { prototype: 1 } },
];

const fields = [
  ...["model", "messages", "input", "tools", "tool_choice", "stream", "stream_options", "temperature", "max_tokens"],
  ...["top_p", "top_k", "stop", "stop_sequences", "previous_response_id", "instructions", "system", "n", "seed"],
  ...["response_format", "text", "metadata", "__proto__", "constructor", "functions", "max_output_tokens"],
];

const badJson: MakeAttack = (random, target) => {
  const whole = JSON.stringify(bodyOf(paths[0], "x"));
  const body = random.pick([
    whole.slice(0, 1 + random.int(whole.length - 1)),
    `${whole}}`,
    "",
    "null",
    "[]",
    "NaN",
    '"text"',
    "{'a': 1}",
    `\u0000${whole}`,
    noise(random, 1 + random.int(200)),
    Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from('"}')]),
  ]);
  return refusedFrom(call(random, target, { body }), [400, 410]);
};

const wrongKey: MakeAttack = (random, { ended, live }) => {
  const strange = ["mr-ep-0", "__proto__", "constructor", "x".repeat(8_000), "mr-ep-%00", "undefined"];
  const near = live.map((key) => `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`);
  const key = random.pick([null, ...strange, ...near, ...ended.slice(-20)]);
  return refusedFrom(call(random, { live: [], ended: [] }, { key }), [401, 410]);
};

const wrongField: MakeAttack = (random, target) => {
  const path = random.pick(paths);
  const more = Array.from({ length: 1 + random.int(3) }, () => [random.pick(fields), random.pick(strangeValues)]);
  const body = JSON.stringify(bodyOf(path, "x")).replace(
    /\}$/,
    `,${more.map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(",")}}`,
  );
  return refusedFrom(call(random, target, { path, body }), callStatuses);
};

const deepNesting: MakeAttack = (random, target) => {
  const levels = random.pick([120, 129, 1_000, 50_000]);
  const path = random.pick(paths);
  const deep = nested(levels);
  const tools =
    path === "/v1/chat/completions"
      ? `[{"type":"function","function":{"name":"f","parameters":{"a":${deep}}}}]`
      : `[{"type":"function","name":"f","parameters":{"a":${deep}},"input_schema":{"a":${deep}}}]`;
  const history = JSON.stringify(
    bodyOf(path, "x", {
      messages: [
        { role: "user", content: "x" },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: "c", function: { name: "f", arguments: `{"a":${deep}}` } }],
        },
        { role: "tool", tool_call_id: "c", content: "y" },
      ],
    }),
  );
  const offered = JSON.stringify(bodyOf(path, "x")).replace(/\}$/, `,"tools":${tools}}`);
  const body = random.pick([deep, offered, `{"messages":${deep},"input":${deep}}`, history]);
  return refusedFrom(call(random, target, { path, body }), callStatuses);
};

const spelling: MakeAttack = (random, target) => refusedFrom(call(random, target), callStatuses);

const hugeBody: MakeAttack = (random, target) => {
  const path = random.pick(paths);
  const size = random.pick([200_000, 1_000_000, 4_000_000]);
  const tool = (at: number) =>
    path === "/v1/chat/completions"
      ? { type: "function", function: { name: `f${at}` } }
      : { type: path === "/v1/messages" ? "custom" : "function", name: `f${at}`, parameters: {}, input_schema: {} };
  const more = random.pick([
    {},
    { tools: Array.from({ length: size / 400 }, (_, at) => tool(at)) },
    { metadata: Array.from({ length: size / 40 }, (_, at) => at) },
  ]);
  const text =
    Object.keys(more).length > 0 ? "x" : random.pick(["word ", "<|im_end|>", "a", "\u{1f600}"]).repeat(size / 10);
  return refusedFrom(call(random, target, { path, body: JSON.stringify(bodyOf(path, text, more)) }), callStatuses);
};

const tooLong: MakeAttack = (random, target) => {
  const length = 17 * 2 ** 20;
  // The body is refused before its end; the rest is not read.
  const parts = call(random, target, { body: Buffer.alloc(length, "x") });
  return { writes: written(parts), ending: "read", statuses: [413, 410], mayBeSilent: true };
};

/** Ends, resets or stops writing in the middle of a request. */
const halfOpen: MakeAttack = (random, target) => {
  const parts = call(random, target);
  const all = Buffer.concat([Buffer.from(headOf(parts)), Buffer.from(parts.body)]);
  const cut = all.subarray(0, 1 + random.int(all.length - 1));
  return {
    writes: [cut, { pauseMs: random.int(20) }],
    ending: random.pick(["half", "gone"]),
    statuses: [400, 401, 408, 410],
    mayBeSilent: true,
  };
};

const slowBody: MakeAttack = (random, target) => {
  const parts = call(random, target);
  const all = Buffer.concat([Buffer.from(headOf(parts)), Buffer.from(parts.body)]);
  const pieces = 2 + random.int(8);
  const size = Math.ceil(all.length / pieces);
  const writes = Array.from({ length: pieces }, (_, at) => [
    all.subarray(at * size, (at + 1) * size),
    { pauseMs: random.int(30) },
  ]).flat();
  return { writes, ending: "read", statuses: callStatuses };
};

/** Is gone while its call runs, or while its answer is sent. */
const aborted: MakeAttack = (random, target) => ({
  writes: [...written(call(random, target)), { pauseMs: random.int(8) }],
  ending: "gone",
  statuses: callStatuses,
  mayBeSilent: true,
});

/** Closes its own side behind a whole request, and reads the answer. */
const halfClosed: MakeAttack = (random, target) => ({
  writes: written(call(random, target)),
  ending: "half",
  statuses: callStatuses,
  mayBeSilent: true,
});

const pipelined: MakeAttack = (random, target) => {
  const count = random.pick([2, 5, 40]);
  const calls = Array.from({ length: count }, () => written(call(random, target, { isLast: false }))).flat();
  const garbage = random.pick([
    noise(random, 64),
    "GET / HTTP/1.1\r\n\r\n",
    "\r\n\r\n\r\n",
    "POST /v1/messages HTTP/1.1\r\n",
  ]);
  return {
    writes: [...calls, garbage, { pauseMs: 30 }],
    ending: random.pick(["half", "gone"]),
    statuses: [...callStatuses, 403, 404, 408],
    mayBeSilent: true,
  };
};

/** The same body with the same key, twice at once on one connection; some say that they are retries. */
const replayed: MakeAttack = (random, target) => {
  const headers = random.pick([[], ["x-stainless-retry-count: 1"], ["x-stainless-retry-count: -1e9"]]);
  const parts = call(random, target, { isLast: false, headers });
  const last = { ...parts, isLast: true };
  return { writes: [...written(parts), ...written(last)], ending: "read", statuses: callStatuses };
};

const strangePage: MakeAttack = (random, target) => {
  const more = random.pick<readonly [Partial<RequestParts>, number]>([
    [{ host: "evil.example" }, 403],
    [{ host: "127.0.0.1.evil.example:80" }, 403],
    [{ headers: ["origin: http://evil.example"] }, 403],
    [{ headers: ["origin: null"] }, 403],
    [{ headers: ["sec-fetch-site: cross-site"] }, 403],
    [{ headers: ["authorization: Bearer other", "authorization: Bearer third"] }, 400],
    [{ headers: ["content-type: text/plain"] }, 415],
    [{ headers: ["content-type: application/x-www-form-urlencoded"] }, 415],
    [{ method: "DELETE" }, 405],
    [{ path: "/v1/../v1/messages" }, 404],
    [{ path: "http://evil.example/v1/messages" }, 404],
    [{ path: "/v1/embeddings" }, 404],
    [{ path: "//v1/messages" }, 404],
  ]);
  return refusedFrom(call(random, target, more[0]), [more[1], 400]);
};

/** Rewards and ends that strangers report, several at once. */
const control: MakeAttack = (random, target) => {
  const requests = Array.from({ length: 1 + random.int(4) }, (_, at) => at);
  const reports = requests.map((at) => {
    const body = random.pick<unknown>([
      {},
      { reward: random.pick<unknown>([1, -1e300, "1", null, [1], {}]) },
      { reward: 1, call: random.pick(["chatcmpl-none", "resp_", "__proto__", ""]) },
      { status: random.pick(["done", "failed", "aborted", "won"]), reward: 0.5, message: "x".repeat(10_000) },
      { turns: Array(1_000).fill(1), success: "yes", metrics: { a: Number.MAX_VALUE, __proto__: 1 } },
      [[]],
      null,
    ]);
    const path = random.pick(["/v1/episode/reward", "/v1/episode/end", "/v1/episodes", "/v1/episode"]);
    const isLook = path === "/v1/episode";
    return call(random, target, {
      path,
      method: isLook ? "GET" : "POST",
      body: isLook ? "" : JSON.stringify(body),
      isLast: at === requests.length - 1,
    });
  });
  return { writes: reports.flatMap(written), ending: "read", statuses: [200, 400, 409, 410] };
};

/** Heads that parsers read in different ways. */
const brokenHead: MakeAttack = (random, target) => {
  const parts = call(random, target);
  const writes = random.pick<readonly (string | Buffer | Pause)[]>([
    [noise(random, 300)],
    ["POST /v1/messages HTTP/9.9\r\nhost: localhost\r\n\r\n"],
    [headOf({ ...parts, headers: ["transfer-encoding: chunked"] }), parts.body],
    [headOf({ ...parts, length: null, headers: ["transfer-encoding: chunked"] }), "zz\r\nabc\r\n0\r\n\r\n"],
    [headOf({ ...parts, length: null, headers: ["transfer-encoding: chunked"] }), "ffffffffffffffff\r\nabc\r\n"],
    [headOf({ ...parts, length: -1 }), parts.body],
    [headOf({ ...parts, length: 3, headers: ["content-length: 9"] }), parts.body],
    [headOf({ ...parts, headers: [`x-long: ${"y".repeat(20_000)}`] }), parts.body],
    [headOf({ ...parts, headers: Array.from({ length: 900 }, (_, at) => `x-${at}: 1`) }), parts.body],
    [headOf({ ...parts, headers: ["x-bad: a\u0000b"] }), parts.body],
    ["\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ]);
  return {
    writes: [...writes, { pauseMs: 5 }],
    ending: "half",
    statuses: [...callStatuses, 431, 505, 403, 404, 413],
    mayBeSilent: true,
  };
};

const kinds: readonly (readonly [name: string, weight: number, make: MakeAttack])[] = [
  ["bad JSON", 120, badJson],
  ["wrong key", 120, wrongKey],
  ["wrong field", 160, wrongField],
  ["deep nesting", 40, deepNesting],
  ["spelling", 160, spelling],
  ["huge body", 4, hugeBody],
  ["too long", 1, tooLong],
  ["half open", 80, halfOpen],
  ["slow body", 60, slowBody],
  ["aborted", 80, aborted],
  ["half closed", 30, halfClosed],
  ["pipelined", 30, pipelined],
  ["replayed", 50, replayed],
  ["control", 50, control],
  ["strange page", 80, strangePage],
  ["broken head", 60, brokenHead],
];
const weights = kinds.reduce((sum, [, weight]) => sum + weight, 0);

export const attackNames: readonly string[] = kinds.map(([name]) => name);

/** Draws an attack. Which keys it carries depends on the episodes that play at that time. */
export const drawAttack = (random: Random, target: Target): Attack => {
  let at = random.int(weights);
  for (const [name, weight, make] of kinds) {
    if (at < weight) return { name, ...make(random, target) };
    at -= weight;
  }
  throw new RangeError("the weights sum up to more than they are");
};
