/**
 * The keys of `env_config` that name an environment's data: its files, the number of rows, and the split. `val_path` is a file for validation,
 * whose rows training leaves out. `val_share` is a share of `path`, chosen by a hash of each row's content. With `val_share: 0` and no
 * `val_path` both splits draw from all rows, as RAGEN does.
 */
import { Schema } from "effect";
import { count, field } from "../../../config/field.ts";

export interface DataFiles {
  readonly path: string;
  /** The file for validation; empty means none. */
  readonly val_path: string;
  readonly val_share: number;
  /** The most rows that are read; 0 means all. */
  readonly max_rows: number;
}

const share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.9 }));

/** The keys, with the environment's own file and share as defaults. */
export const dataFiles = (path: string, valShare = 0.1) => ({
  path: field(
    Schema.NonEmptyString,
    path,
    "Data file: .jsonl, .json (one array) or .parquet; sought from the working directory, then from the package.",
  ),
  val_path: field(Schema.String, "", "Data file of validation; empty takes val_share of path."),
  val_share: field(
    share,
    valShare,
    "Share of path kept for validation, chosen by a hash of each row's content; 0 lets training and validation draw from all rows.",
  ),
  max_rows: field(count, 0, "Rows read from the start of path; 0 reads all."),
});

/** Picks the keys of the data from a decoded `env_config`. */
export const filesOf = ({ max_rows, path, val_path, val_share }: DataFiles): DataFiles => ({
  max_rows,
  path,
  val_path,
  val_share,
});
