/** The error of a data file that is missing, unreadable or without a usable row. Its message is one sentence for the user. */
import { Schema } from "effect";

export class DatasetError extends Schema.TaggedError<DatasetError>()("DatasetError", {
  file: Schema.String,
  message: Schema.String,
}) {}
