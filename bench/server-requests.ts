/**
 * Measures what one request to a generation server costs the main thread. A history goes out as JSON; a reply comes
 * back with a log-probability for each token, is decoded and checked. The server is a process of its own that answers
 * every request with the same bytes, so that the measured core time is the client's.
 */
import { spawn } from "node:child_process";
import { Effect } from "effect";
import * as Channel from "../src/remote/generation/Channel.ts";
import type { Dialect, ServerContext, ServerRequest, ServerRequirements } from "../src/remote/generation/Dialect.ts";
import { sglang } from "../src/remote/generation/sglang.ts";
import { vllm } from "../src/remote/generation/vllm.ts";
import type { Bench, Figure } from "./Bench.ts";

/** Ids that go out, and tokens that come back. */
const SHAPES = [
  [2_000, 50],
  [2_000, 200],
  [2_000, 1_000],
  [8_000, 200],
] as const;
const REQUESTS = 400;
const AT_ONCE = 16;
const VOCABULARY = 150_000;

/** As 0.32 of vLLM writes it, and SGLang. */
const answers = {
  vllm: (count: number) => ({
    choices: [
      {
        index: 0,
        finish_reason: "length",
        token_ids: sampled(count).map(({ id }) => id),
        weight_versions: [{ version: "bench-v0", start: 0, end: count }],
        logprobs: {
          content: sampled(count).map(({ id, logprob }) => ({ token_id: id, logprob, rank: 1, top_logprobs: [] })),
        },
      },
    ],
  }),
  sglang: (count: number) => ({
    output_ids: sampled(count).map(({ id }) => id),
    meta_info: {
      finish_reason: { type: "length", length: count },
      weight_version: "bench-v0",
      weight_versions: [{ version: "bench-v0", start: 0, end: count }],
      output_token_logprobs: sampled(count).map(({ id, logprob }) => [logprob, id, null]),
    },
  }),
} as const;
const sampled = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: (i * 7_919) % VOCABULARY, logprob: -Math.log(2 + i) }));
const dialects: Readonly<Record<keyof typeof answers, Dialect>> = { vllm, sglang };

/** Answers everything with what it is given, and says its port. */
const program = `
const { createServer } = require("node:http");
const body = Buffer.from(process.env.ANSWER);
createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(body));
}).listen(0, "127.0.0.1", function () { process.stdout.write(String(this.address().port)); });
`;

const serving = (answer: unknown) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const env = { ...process.env, ANSWER: JSON.stringify(answer) };
      const child = spawn(process.execPath, ["-e", program], { env, stdio: ["ignore", "pipe", "inherit"] });
      const port = await new Promise<string>((resolve) => child.stdout.once("data", (text) => resolve(String(text))));
      return { child, url: `http://127.0.0.1:${port}` };
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
  );

const requirements: ServerRequirements = {
  model: "m",
  vocabSize: VOCABULARY,
  positions: 2 ** 20,
  kind: "full",
  rank: 0,
  text: "",
  ids: new Int32Array(),
  probe: { ids: new Int32Array(), lengths: [] },
};

const askOf = (history: number, maxTokens: number): ServerRequest => ({
  id: "bench",
  ids: Int32Array.from({ length: history }, (_, i) => (i * 104_729) % VOCABULARY),
  maxTokens,
  sampling: { temperature: 1, topK: -1, topP: 1 },
  seed: 1,
  stops: ["</answer>"],
  stopIds: [1],
  version: 0,
  cacheOf: 0,
});

/** Milliseconds of a core that a request costs this thread. */
const costOf = Effect.fnUntraced(function* (engine: keyof typeof answers, history: number, tokens: number) {
  const { url } = yield* serving(answers[engine](tokens));
  const channel = Channel.make({ url, key: null, timeoutMs: 60_000 });
  const server: ServerContext = { channel, model: "m", run: "bench", requirements };
  const request = dialects[engine].generate(server, askOf(history, tokens));
  const many = (count: number) =>
    Effect.forEach(Array.from({ length: count }), () => request, { concurrency: AT_ONCE, discard: true });
  yield* many(REQUESTS);
  const before = process.threadCpuUsage();
  yield* many(REQUESTS);
  const { system, user } = process.threadCpuUsage(before);
  return (system + user) / 1_000 / REQUESTS;
}, Effect.scoped);

export const bench: Bench = {
  question: "what does a request to a generation server cost the main thread?",
  parts: [
    async () => {
      const figures: Figure[] = [];
      for (const engine of ["vllm", "sglang"] as const) {
        for (const [history, tokens] of SHAPES) {
          const value = await Effect.runPromise(costOf(engine, history, tokens));
          figures.push({ name: `${engine}: ${history} ids out, ${tokens} tokens back`, value, unit: "ms of a core" });
        }
      }
      return () => figures;
    },
  ],
};
