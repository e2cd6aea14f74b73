/**
 * Entry of a worker's thread that fetches model and weights, reads them, and sends them to the generators' threads, so that they cost the
 * main thread nothing. Invariant: versions reach a generator in increasing order, and a newer one replaces one that waits.
 */
import { Effect, Exit } from "effect";
import { readWeights } from "../../../model/checkpoint/HuggingFaceFolder.ts";
import type { ModelConfig } from "../../../model/checkpoint/ModelConfig.ts";
import { readAdapter } from "../../../model/checkpoint/PeftFolder.ts";
import { CallError, serve } from "../../../model/runtime/serve.ts";
import { Mailbox, Snapshot } from "../../../model/weights/Mailbox.ts";
import { FetchFailed, fetchFolder } from "./fetchFolder.ts";
import type { FetchProtocol } from "./protocol.ts";

interface FetchTarget {
  readonly mailboxes: readonly Mailbox[];
  readonly kind: "full" | "adapter";
  readonly config: ModelConfig;
}

let started: FetchTarget | undefined;

const parametersOf = ({ config, kind }: FetchTarget, folder: string) =>
  kind === "full"
    ? Effect.map(readWeights(folder, config), ({ parameters }) => parameters)
    : Effect.map(readAdapter(folder, { ...config.config, adapter: undefined }), ({ parameters }) => parameters);

serve<FetchProtocol>(
  {
    fetch: async (request, { onCancel }) => {
      const stop = new AbortController();
      onCancel(() => stop.abort());
      const exit = await Effect.runPromiseExit(Effect.result(fetchFolder(request)), {
        signal: stop.signal,
      });
      if (Exit.isFailure(exit)) throw new CallError("cancelled", "the transfer was given up");
      if (exit.value._tag === "Success") return exit.value.success;
      const { failure } = exit.value;
      throw failure instanceof FetchFailed ? new CallError(failure.reason, failure.message) : failure;
    },
    start: ({ config, kind, ports }) => {
      started = { config, kind, mailboxes: ports.map((port) => new Mailbox(port)) };
      return null;
    },
    adopt: async ({ folder, version }) => {
      if (started === undefined) throw new CallError("not_started", "no generator was named");
      const { kind, mailboxes } = started;
      const { flat } = await Effect.runPromise(parametersOf(started, folder)).catch((error: unknown) => {
        throw new CallError("damaged", error instanceof Error ? error.message : String(error));
      });
      const snapshot = new Snapshot({ version, kind }, Float32Array.from(flat), mailboxes.length);
      for (const mailbox of mailboxes) mailbox.publish(snapshot);
      return null;
    },
  },
  async () => {
    for (const mailbox of started?.mailboxes ?? []) mailbox.close();
  },
);
