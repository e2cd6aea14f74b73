/**
 * Takes controls for a run on a unix socket, in a folder of the user alone that the run folder's control.json names. A connection
 * sends one request and gets one answer. Invariant: the run gets a control whole and checked, or not at all.
 */
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Exit, FiberSet, Result, type Scope } from "effect";
import type { Control, Controller } from "../../domain/Control.ts";
import type { BadInput } from "../../domain/Errors.ts";
import { makeTemporaryFolder, temporaryPath } from "../../support/process/temporaryFolder.ts";
import * as ControlFile from "./ControlFile.ts";
import { type ControlAnswer, decodeRequest, encodeLine, LONGEST_LINE } from "./Protocol.ts";

export type ControlHandler<R> = (control: Control, by: Controller) => Effect.Effect<void, BadInput, R>;

const MOST_CONNECTIONS = 16;
/** The server closes a connection that is silent for so many milliseconds. */
const SILENT_MS = 10_000;
/** The longest path of a unix socket that every system takes, bytes. */
const LONGEST_PATH = 100;

const socketFolder = (): Promise<string> => {
  const usual = Buffer.byteLength(join(temporaryPath("control"), "control"));
  return makeTemporaryFolder("control", usual > LONGEST_PATH ? "/tmp" : tmpdir());
};

/** Passes the first line of a connection to `answer`, and sends the answer back. */
const answerFirstLine = (
  socket: Socket,
  answer: (text: string, reply: (answer: ControlAnswer) => void) => void,
): void => {
  let text = "";
  const end = (said: ControlAnswer): void => void socket.end(encodeLine(said));
  socket.setEncoding("utf8");
  socket.setTimeout(SILENT_MS, () => socket.destroy());
  // A client that hangs up must not end the run.
  socket.on("error", () => socket.destroy());
  socket.on("data", (piece: string) => {
    text += piece;
    const newline = text.indexOf("\n");
    if (newline < 0) {
      if (text.length > LONGEST_LINE) socket.destroy();
      return;
    }
    socket.removeAllListeners("data").resume().setTimeout(0);
    answer(text.slice(0, newline), end);
  });
};

const listening = (server: Server, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });

const openSocket = async (
  folder: string,
  server: Server,
): Promise<ControlFile.Address & { readonly place: string }> => {
  const place = await socketFolder();
  try {
    const socket = join(place, "control");
    await listening(server, socket);
    await chmod(socket, 0o600);
    const address = { socket, pid: process.pid };
    await ControlFile.write(folder, address);
    return { ...address, place };
  } catch (cause) {
    server.close();
    await rm(place, { recursive: true, force: true });
    throw cause;
  }
};

/**
 * Takes controls for the run of `folder` until the scope closes. If no socket can be made, it logs a warning and the run goes on.
 */
export const serve = <R>(folder: string, handle: ControlHandler<R>): Effect.Effect<void, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>();
    const run = yield* FiberSet.makeRuntime<never, void, never>();
    const carryOut = ({ by, control }: { readonly control: Control; readonly by: Controller }) =>
      Effect.exit(Effect.provideContext(handle(control, by), context));
    const server = createServer((socket) =>
      answerFirstLine(socket, (text, reply) => {
        const request = decodeRequest(text);
        if (Result.isFailure(request)) return reply({ error: "this is no control" });
        run(Effect.map(carryOut(request.success), (exit) => reply(answerOf(exit))));
      }),
    );
    server.maxConnections = MOST_CONNECTIONS;
    yield* Effect.acquireRelease(
      Effect.tryPromise({ try: () => openSocket(folder, server), catch: (cause) => cause }),
      ({ place, ...address }) =>
        Effect.promise(async () => {
          server.close();
          await ControlFile.remove(folder, address).catch(() => undefined);
          await rm(place, { recursive: true, force: true }).catch(() => undefined);
        }),
    );
  }).pipe(
    Effect.catch((cause) =>
      Effect.logWarning(`the run takes no controls: ${cause instanceof Error ? cause.message : String(cause)}`),
    ),
  );

const answerOf = (exit: Exit.Exit<void, BadInput>): ControlAnswer => {
  if (Exit.isSuccess(exit)) return { ok: true };
  const failure = Exit.findErrorOption(exit);
  return { error: failure._tag === "Some" ? failure.value.message : "the run could not carry it out" };
};
