/**
 * Entry of a generator thread: one engine over one model. Calls come from the owner's port, weights from a direct port to the
 * learner; both are read between decode steps. Invariant: nothing is generated before `start`.
 */
import type { MessagePort } from "node:worker_threads";
import { useRuntime } from "../runtime/Session.ts";
import { CallError, serve } from "../runtime/serve.ts";
import * as StopMatcher from "../tokenizer/StopMatcher.ts";
import type { AdoptedMessage, WeightsMessage } from "../Weights.ts";
import { Engine } from "./Engine.ts";
import type { GeneratorProtocol, StartRequest } from "./Messages.ts";
import { type OnnxWeights, open } from "./OnnxModel.ts";
import { bytesOf } from "./TokenBytes.ts";

let engine: Engine<OnnxWeights> | undefined;
let port: MessagePort | undefined;
let starting: Promise<unknown> = Promise.resolve();

const started = (): Engine<OnnxWeights> => {
  if (engine === undefined) throw new CallError("bad_request", "the generator has not started");
  return engine;
};

const start = async (request: StartRequest): Promise<null> => {
  const { base, config, version, payload, weights, stops, tokens, runtime, ...options } = request;
  useRuntime(runtime);
  const model = await open(config, base).catch((error: unknown) => {
    throw new CallError("session_failed", error instanceof Error ? error.message : String(error), { cause: error });
  });
  engine = new Engine(
    model,
    { version, payload },
    {
      ...options,
      stops: stops.length === 0 ? null : StopMatcher.make(stops, bytesOf(tokens)),
      onAdopted: (adopted) => {
        const message: AdoptedMessage = { _tag: "adopted", version: adopted };
        weights.postMessage(message);
        emit(message);
      },
    },
  );
  port = weights;
  weights.on("message", (message: WeightsMessage) => started().offer(message.version, message.payload));
  return null;
};

const { emit } = serve<GeneratorProtocol>(
  {
    start: (request) => {
      const opened = start(request);
      starting = opened;
      return opened;
    },
    generate: (request, { onCancel }) =>
      new Promise((resolve, reject) => {
        const running = started();
        onCancel(() => running.cancel(request.sequence));
        running.generate(request, {
          done: resolve,
          fail: ({ code, message, ...cause }) => reject(new CallError(code, message, cause)),
        });
      }),
    release: (sequence) => {
      started().release(sequence);
      return null;
    },
    hold: (version) => started().hold(version),
    unhold: (version) => {
      started().unhold(version);
      return null;
    },
    gauges: () => started().gauges(),
  },
  async () => {
    // A start that is under way opens a session still: what it opens is closed.
    await starting.catch(() => undefined);
    port?.close();
    await engine?.close();
  },
);
