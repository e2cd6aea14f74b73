/** Binds a server to an address and a port. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Effect, Schema } from "effect";

/** The port cannot be opened. `code` is the system's: EADDRINUSE, EACCES, ... */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  code: Schema.String,
}) {}

/** Returns the port that it listens on; port 0 takes any free one. */
export const listen = (server: Server, host: string, port: number): Effect.Effect<number, ListenFailed> =>
  Effect.callback<number, ListenFailed>((resume) => {
    // The listener stays, because a later connection that cannot be accepted must not end the process.
    server.on("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(new ListenFailed({ host, port, code: error.code ?? error.message }))),
    );
    server.listen(port, host, () => resume(Effect.succeed((server.address() as AddressInfo).port)));
  });
