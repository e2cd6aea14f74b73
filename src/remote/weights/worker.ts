/**
 * Entry of the thread that writes versions of the weights to disk, in order of arrival. A version is acknowledged once its folder is there;
 * then the learner sends its newest version.
 */
import { rm } from "node:fs/promises";
import type { MessagePort } from "node:worker_threads";
import { Effect } from "effect";
import { CallError, serve } from "../../model/runtime/serve.ts";
import type { AdoptedMessage, WeightsMessage } from "../../model/weights/Weights.ts";
import { Prober } from "./Prober.ts";
import type { PublisherProtocol, StartRequest } from "./protocol.ts";
import { versionFolder, writeVersion } from "./VersionFolder.ts";

let started: StartRequest | undefined;
let port: MessagePort | undefined;
let prober: Prober | undefined;
let last: Promise<unknown> = Promise.resolve();

const inOrder = <A>(work: () => Promise<A>): Promise<A> => {
  const result = last.then(work, work);
  last = result;
  return result;
};

const write = async (request: StartRequest, version: number, flat: Float32Array<ArrayBuffer>): Promise<void> => {
  const { directory, files, layout } = request;
  await Effect.runPromise(writeVersion(directory, version, files, flat, layout));
  const scores = prober === undefined ? null : await prober.scores(flat);
  emit({ _tag: "written", version, scores });
};

const begin = async (request: StartRequest): Promise<void> => {
  const { base, files, flat, probe, version } = request;
  if (probe !== null) prober = await Prober.open(files.config, base, probe);
  await write(request, version, flat);
};

const receive = async ({ payload, version }: WeightsMessage): Promise<void> => {
  if (started === undefined || payload._tag === "remote") return;
  try {
    await write(started, version, new Float32Array(payload.buffer));
    const adopted: AdoptedMessage = { _tag: "adopted", version };
    port?.postMessage(adopted);
  } catch (error) {
    emit({ _tag: "failed", message: error instanceof Error ? error.message : String(error) });
  }
};

const { emit } = serve<PublisherProtocol>(
  {
    start: (request) =>
      inOrder(async () => {
        // The starting weights are needed only until they are written.
        started = { ...request, flat: new Float32Array(0) };
        port = request.weights;
        await begin(request).catch((error: unknown) => {
          throw new CallError("session_failed", error instanceof Error ? error.message : String(error));
        });
        request.weights.on("message", (message: WeightsMessage) => void inOrder(() => receive(message)));
        return null;
      }),
    remove: (version) =>
      inOrder(async () => {
        if (started !== undefined)
          await rm(versionFolder(started.directory, version), { recursive: true, force: true });
        return null;
      }),
  },
  async () => {
    await last.catch(() => undefined);
    port?.close();
    await prober?.[Symbol.asyncDispose]();
  },
);
