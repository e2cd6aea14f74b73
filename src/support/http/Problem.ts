/**
 * The reason why a request is not answered, for its client: a status and one readable sentence. Each server renders it in its own
 * form.
 */
import { Schema } from "effect";

export class Problem extends Schema.TaggedError<Problem>()("Problem", {
  status: Schema.Number,
  message: Schema.String,
  /** The flag of the server that would let the request through, with its effect. */
  flag: Schema.optionalKey(Schema.String),
}) {}

export const badRequest = (message: string): Problem => new Problem({ status: 400, message });
export const notFound = (message: string): Problem => new Problem({ status: 404, message });
