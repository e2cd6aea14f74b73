/**
 * Sampled episodes in the run's folder: trajectories.jsonl has a record for each token sequence. Each line of
 * trajectories.index.jsonl gives the place and subject of a record, so that a reader opens one episode without the others.
 * Invariant: a line of the index is written after its record.
 */
import { open } from "node:fs/promises";
import { Effect } from "effect";
import { countTurns, type EpisodeRecord, type TurnRecord, type VerdictName } from "../../domain/EpisodeRecord.ts";
import { BadInput } from "../../domain/Errors.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import type { RunFolder } from "./RunFolder.ts";

/** A line of trajectories.index.jsonl. */
export interface EpisodeIndexLine
  extends Pick<
    EpisodeRecord,
    "step" | "split" | "group" | "member" | "sequence" | "tag" | "seed" | "success" | "reward"
  > {
  /** Null for validation. */
  readonly verdict: VerdictName | null;
  readonly turns: number;
  /** Sampled tokens. */
  readonly tokens: number;
  /** `Done`, or the reason why the episode was cut or failed. */
  readonly outcome: string;
  /** Offset of the record's line and its length including the newline, bytes. */
  readonly offset: number;
  readonly length: number;
}

/** The tokens of a reply; 0 if they were not counted. */
const replyTokens = ({ counted, ids }: TurnRecord): number =>
  counted === undefined ? ids.length : (counted.reply ?? 0);

export const episodeIndexLine = (record: EpisodeRecord, offset: number, length: number): EpisodeIndexLine => ({
  step: record.step,
  split: record.split,
  group: record.group,
  member: record.member,
  sequence: record.sequence,
  tag: record.tag,
  seed: record.seed,
  success: record.success,
  reward: record.reward,
  verdict: record.verdict ?? null,
  turns: countTurns(record),
  tokens: record.turns.reduce((sum, turn) => sum + replyTokens(turn), 0),
  outcome: record.outcome._tag === "Done" ? "Done" : record.outcome.reason,
  offset,
  length,
});

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** Appends the text to the file, and returns the offset at which it begins. */
const appendText = async (path: string, text: string): Promise<number> => {
  const file = await open(path, "a");
  try {
    const { size } = await file.stat();
    await file.appendFile(text);
    return size;
  } finally {
    await file.close();
  }
};

/** Lines of the index for records whose lines begin at `start`. */
const indexOf = (records: readonly EpisodeRecord[], lines: readonly string[], start: number): string => {
  let offset = start;
  const index = records.map((record, i) => {
    const length = Buffer.byteLength(lines[i] ?? "");
    const entry = episodeIndexLine(record, offset, length);
    offset += length;
    return line(entry);
  });
  return index.join("");
};

const write = async (paths: Paths, records: readonly EpisodeRecord[]): Promise<void> => {
  const lines = records.map(line);
  const offset = await appendText(paths.trajectories, lines.join(""));
  await appendText(paths.trajectoriesIndex, indexOf(records, lines, offset));
};

type Paths = Pick<typeof RunFolder.Service, "trajectories" | "trajectoriesIndex">;

/** Replaces the records of the run's folder. Fails with BadInput if they cannot be written. */
export const replace = (paths: Paths, records: readonly EpisodeRecord[]): Effect.Effect<void, BadInput> => {
  const lines = records.map(line);
  const written = Effect.andThen(
    replaceText(paths.trajectories, lines.join("")),
    replaceText(paths.trajectoriesIndex, indexOf(records, lines, 0)),
  );
  return Effect.mapError(written, ({ message }) => new BadInput({ message: `cannot write ${message}` }));
};

/** Appends the records to the run's folder. Fails with BadInput if they cannot be written. */
export const append = (paths: Paths, records: readonly EpisodeRecord[]): Effect.Effect<void, BadInput> =>
  records.length === 0
    ? Effect.void
    : Effect.tryPromise({
        try: () => write(paths, records),
        catch: (cause) =>
          new BadInput({
            message: `cannot write ${paths.trajectories}: ${cause instanceof Error ? cause.message : String(cause)}`,
          }),
      });
