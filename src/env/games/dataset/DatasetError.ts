/** A data file is missing, unreadable or holds no usable row. The message is one sentence for the user that names the file. */
import { Schema } from "effect";

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  file: Schema.String,
  message: Schema.String,
}) {}
