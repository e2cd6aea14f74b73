/** Data that cannot be played: the file is missing, unreadable or holds no usable row. One sentence for the user, which names the file. */
import { Schema } from "effect";

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  file: Schema.String,
  message: Schema.String,
}) {}
