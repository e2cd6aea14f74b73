/**
 * Fetches a Millrace server's description of its environment. A server of another project does not know the path, which gives null; a server that
 * does not answer at all is a `RemoteError`.
 */
import { Option, Schema } from "effect";
import type { Connection } from "./Connection.ts";
import { get } from "./exchange.ts";
import { descriptionPath } from "./Protocol.ts";
import { withRetries } from "./retry.ts";
import { EnvironmentDescription } from "./ServedObservation.ts";

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(EnvironmentDescription));

export const fetchDescription = async (to: Connection): Promise<EnvironmentDescription | null> => {
  const { status, text } = await withRetries(to, null, new AbortController().signal, () => get(to, descriptionPath));
  return status === 200 ? Option.getOrNull(decode(text)) : null;
};
