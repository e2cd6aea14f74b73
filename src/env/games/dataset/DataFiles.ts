/**
 * The keys of `env_config` that name an environment's data: which files, how many rows, and how validation is kept apart from training.
 * They are defined once, so that every environment with data spells them alike.
 *
 * Three ways to split. `val_path`: a file of its own; training rows with the content of a validation row are left out. `val_share`: a
 * share of `path`, by a hash of each row's content. `val_share: 0` without `val_path`: both draw from all rows, as RAGEN does.
 */
import { Schema } from "effect";
import { count, field } from "../../../config/field.ts";

export interface DataFiles {
  readonly path: string;
  /** Empty: none. */
  readonly val_path: string;
  readonly val_share: number;
  /** 0: all. */
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
  max_rows: field(count, 0, "Rows read from the start of path; 0 all."),
});

/** These keys, taken out of a decoded `env_config`. */
export const filesOf = ({ max_rows, path, val_path, val_share }: DataFiles): DataFiles => ({
  max_rows,
  path,
  val_path,
  val_share,
});
