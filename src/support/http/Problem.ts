/** Why a request is not answered, for whoever asked: a status and one readable sentence. Each server has its own form of the reply. */
import { Schema } from "effect";

export class Problem extends Schema.TaggedError<Problem>()("Problem", {
  status: Schema.Number,
  message: Schema.String,
  /** The flag that would let the request through, and how; of the servers that have it. */
  flag: Schema.optionalKey(Schema.String),
}) {}

export const badRequest = (message: string): Problem => new Problem({ status: 400, message });
export const notFound = (message: string): Problem => new Problem({ status: 404, message });
