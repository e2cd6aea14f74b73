/**
 * The recorded episodes of a run's folder, as its files grow. The index is in memory; the records of a group are read on request.
 * If a resumed run has cut trajectories.jsonl back, the index is read again.
 */
import { join } from "node:path";
import { readRange, withFile } from "../../../support/files/regularFile.ts";
import type { EpisodePage } from "../Api.ts";
import { type EpisodeQuery, EpisodesIndex } from "./EpisodesIndex.ts";
import { Tail } from "./Tail.ts";

/** Bytes of one group's records; a larger group is answered in part. */
const LARGEST_GROUP = 64 * 2 ** 20;

const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
};

interface EpisodeFiles {
  readonly index: EpisodesIndex;
  readonly places: Tail;
  readonly records: Tail;
  cut: boolean;
}

export class Episodes {
  readonly #folder: string;
  #files: EpisodeFiles;

  constructor(folder: string) {
    this.#folder = folder;
    this.#files = this.#openFiles();
  }

  /** Reads new lines; true if there were any. */
  async advance(): Promise<boolean> {
    const changed = await this.#read();
    if (!this.#files.cut) return changed;
    this.#files = this.#openFiles();
    await this.#read();
    return true;
  }

  lastStep(): number | null {
    return this.#files.index.lastStep();
  }

  page(query: EpisodeQuery): EpisodePage {
    return this.#files.index.page(query);
  }

  /** The records as JSON texts, by member and sequence; none if the group was not recorded. */
  async group(split: string, step: number, group: number): Promise<readonly string[]> {
    const places = this.#files.index.group(split, step, group);
    if (places.length === 0) return [];
    const read = await withFile(join(this.#folder, "trajectories.jsonl"), async (file) => {
      const texts: string[] = [];
      let left = LARGEST_GROUP;
      for (const { length, offset } of places) {
        left -= length;
        if (left < 0) break;
        const text = (await readRange(file, offset, length)).toString("utf8").trimEnd();
        if (isJson(text)) texts.push(text);
      }
      return texts;
    });
    return read ?? [];
  }

  async #read(): Promise<boolean> {
    const { index, places, records } = this.#files;
    const named = await places.advance();
    records.skipTo(index.end);
    const recorded = await records.advance();
    return named || recorded;
  }

  #openFiles(): EpisodeFiles {
    const index = new EpisodesIndex();
    const reading: EpisodeFiles = {
      index,
      places: new Tail(join(this.#folder, "trajectories.index.jsonl"), {
        line: (line) => index.addIndexLine(line),
        cut: () => undefined,
      }),
      records: new Tail(join(this.#folder, "trajectories.jsonl"), {
        line: (line, offset) => index.addRecord(line, offset),
        cut: () => {
          reading.cut = true;
        },
      }),
      cut: false,
    };
    return reading;
  }
}
