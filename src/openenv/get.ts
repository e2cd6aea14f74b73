/**
 * One question to a server, outside any session. Enters: a connection and a path; leaves: the status and the text, or the `RemoteError`
 * of a server that does not answer within the time a connection may take.
 */
import { networkReason } from "../env/http.ts";
import type { Connection } from "./Connection.ts";
import { textOf } from "./HttpChannel.ts";
import { addressOf } from "./Protocol.ts";
import { RemoteError } from "./RemoteError.ts";

export interface Got {
  /** The address asked. */
  readonly from: string;
  readonly status: number;
  readonly text: string;
}

export const get = async (to: Connection, path: string): Promise<Got> => {
  const from = addressOf(to.url, "http", path);
  const timeout = AbortSignal.timeout(to.connect_timeout_ms);
  try {
    const response = await fetch(from, { signal: timeout });
    return { from, status: response.status, text: await textOf(response, to.max_message_bytes, from) };
  } catch (error) {
    if (error instanceof RemoteError) throw error;
    throw timeout.aborted
      ? new RemoteError({ reason: "timeout", message: `${from}: no answer after ${to.connect_timeout_ms} ms` })
      : new RemoteError({ reason: "unreachable", message: `${from}: ${networkReason(error)}` });
  }
};
