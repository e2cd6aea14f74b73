/**
 * What a Millrace server says of the environment it plays. A server of another project does not know the path, which gives null; a server
 * that does not answer at all is a `RemoteError`.
 */
import { Option, Schema } from "effect";
import type { Connection } from "./Connection.ts";
import { get } from "./exchange.ts";
import { describedAt } from "./Protocol.ts";
import { retrying } from "./retry.ts";
import { Described } from "./Showing.ts";

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Described));

export const described = async (to: Connection): Promise<Described | null> => {
  const { status, text } = await retrying(to, null, new AbortController().signal, () => get(to, describedAt));
  return status === 200 ? Option.getOrNull(decode(text)) : null;
};
