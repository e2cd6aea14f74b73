/**
 * Entry of a generator thread: one loop over one model. Calls arrive on the owner's port, weights on a direct port to the learner; both are
 * read between decode steps. Invariant: nothing is generated before `start`.
 */
import type { MessagePort } from "node:worker_threads";
import { isResident } from "../domain/Device.ts";
import type { Version } from "../domain/Episode.ts";
import { useRuntime } from "../model/runtime/Session.ts";
import { CallError, serve } from "../model/runtime/serve.ts";
import * as StopMatcher from "../model/tokenizer/StopMatcher.ts";
import type { AdoptedMessage, WeightsMessage } from "../model/weights/Weights.ts";
import { GeneratorLoop } from "./GeneratorLoop.ts";
import type { GeneratorProtocol, StartRequest } from "./GeneratorProtocol.ts";
import type { GeneratorModel } from "./LanguageModel.ts";
import { type OnnxWeights, open } from "./OnnxModel.ts";
import { openResident, type ResidentWeights } from "./ResidentModel.ts";
import { byteLookup } from "./TokenBytes.ts";

type RunningLoop = GeneratorLoop<OnnxWeights> | GeneratorLoop<ResidentWeights>;

let loop: RunningLoop | undefined;
let port: MessagePort | undefined;
let starting: Promise<unknown> = Promise.resolve();

const runningLoop = (): RunningLoop => {
  if (loop === undefined) throw new CallError("bad_request", "the generator has not started");
  return loop;
};

const orSessionFailed = <A>(opening: Promise<A>): Promise<A> =>
  opening.catch((error: unknown) => {
    throw new CallError("session_failed", error instanceof Error ? error.message : String(error), { cause: error });
  });

const loopOver = <W>(model: GeneratorModel<W>, request: StartRequest): GeneratorLoop<W> => {
  const { version, payload, earlier, weights, stops, tokens, ...options } = request;
  const settings = {
    ...options,
    stops: StopMatcher.matchers(stops, byteLookup(tokens)),
    onAdopted: (adopted: Version) => {
      const message: AdoptedMessage = { _tag: "adopted", version: adopted };
      weights.postMessage(message);
      emit(message);
    },
  };
  return new GeneratorLoop(model, { version, payload }, settings, earlier);
};

const start = async (request: StartRequest): Promise<null> => {
  const { base, config, device, format, intraOpThreads, prepacks, runtime, weights } = request;
  useRuntime(runtime);
  if (isResident(device)) {
    if (format === "int8") throw new CallError("bad_request", "a device has no products of 8-bit numbers");
    loop = loopOver(await orSessionFailed(openResident(config, device, base, format)), request);
  } else {
    const opening = open(config, { device, base, format, intraOpThreads, prepacks });
    loop = loopOver(await orSessionFailed(opening), request);
  }
  port = weights;
  weights.on("message", (message: WeightsMessage) => runningLoop().offer(message.version, message.payload));
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
        const running = runningLoop();
        onCancel(() => running.cancel(request.sequence));
        running.generate(request, {
          done: resolve,
          fail: ({ code, message, ...cause }) => reject(new CallError(code, message, cause)),
        });
      }),
    release: (sequence) => {
      runningLoop().release(sequence);
      return null;
    },
    hold: (version) => runningLoop().hold(version),
    unhold: (version) => {
      runningLoop().unhold(version);
      return null;
    },
    gauges: () => runningLoop().gauges(),
  },
  async () => {
    // A start in progress still opens a session, so wait for it and close it.
    await starting.catch(() => undefined);
    port?.close();
    await loop?.close();
  },
);
