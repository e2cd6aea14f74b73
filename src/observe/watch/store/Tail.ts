/**
 * Follows a file of lines that grows, and that a resumed run cuts back. The follower gets each line once. Invariant: the follower
 * has the lines of the file up to `end`. If the file was cut, the follower drops the lines behind the cut and gets the new ones.
 */
import type { FileHandle } from "node:fs/promises";
import { readLines } from "../../../support/files/readLines.ts";
import { readRange, withFile } from "../../../support/files/regularFile.ts";

export interface LineFollower {
  readonly line: (line: Buffer, offset: number) => void;
  /** Drops the lines that begin at `offset` or behind it. */
  readonly cut: (offset: number) => void;
}

/** The bytes of the file just before the end of a line, to recognise a cut. */
interface Post {
  readonly end: number;
  readonly bytes: Buffer;
}

/** Bytes between two posts: at most so much is read again beside the cut part. */
const POST_EVERY = 2 ** 20;
const POST_BYTES = 64;

const postAt = async (file: FileHandle, end: number): Promise<Post> => {
  const length = Math.min(end, POST_BYTES);
  return { end, bytes: Buffer.from(await readRange(file, end - length, length)) };
};

const stands = async (file: FileHandle, { bytes, end }: Post): Promise<boolean> =>
  (await readRange(file, end - bytes.length, bytes.length)).equals(bytes);

export class Tail {
  readonly #path: string;
  readonly #follower: LineFollower;
  #posts: Post[] = [];
  #end = 0;
  #skip = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(path: string, follower: LineFollower) {
    this.#path = path;
    this.#follower = follower;
  }

  /** Offset behind the last line that the follower has. */
  get end(): number {
    return this.#end;
  }

  /** Reads new lines; true if there were any, or some were cut. Calls run one after the other. */
  advance(): Promise<boolean> {
    const next = this.#queue.then(() => this.#advance());
    this.#queue = next.catch(() => undefined);
    return next;
  }

  /** Skips the lines before `offset`, at which a line begins. */
  skipTo(offset: number): void {
    this.#skip = offset;
  }

  async #advance(): Promise<boolean> {
    const changed = await withFile(this.#path, async (file) => {
      const { size } = await file.stat();
      const cut = await this.#reconcile(file, size);
      const before = this.#end;
      if (this.#skip > this.#end && this.#skip <= size) {
        this.#end = this.#skip;
        this.#posts.push(await postAt(file, this.#end));
      }
      while (this.#end < size) {
        const from = this.#end;
        this.#end = await readLines(file, from, Math.min(size, from + POST_EVERY), (line, offset) => {
          this.#follower.line(line, offset);
          return true;
        });
        // The stretch has no newline: either a line is longer, or this is the torn end.
        if (this.#end === from) {
          if (size - from <= POST_EVERY) break;
          this.#end = await readLines(file, from, size, (line, offset) => this.#one(line, offset, from));
          if (this.#end === from) break;
        }
        this.#posts.push(await postAt(file, this.#end));
        this.#thin();
      }
      return cut || this.#end !== before;
    });
    if (changed !== null) return changed;
    return this.#end > 0 && this.#cutTo(0);
  }

  /** Takes the first line and stops at the next. */
  #one(line: Buffer, offset: number, first: number): boolean {
    if (offset !== first) return false;
    this.#follower.line(line, offset);
    return true;
  }

  /** Cuts back to the newest post that the file still has; true if lines were cut. */
  async #reconcile(file: FileHandle, size: number): Promise<boolean> {
    const [...posts] = this.#posts;
    for (let post = posts.pop(); post !== undefined; post = posts.pop()) {
      if (post.end <= size && (await stands(file, post))) return post.end < this.#end && this.#cutTo(post.end);
    }
    return this.#posts.length > 0 && this.#cutTo(0);
  }

  #cutTo(offset: number): boolean {
    this.#posts = this.#posts.filter(({ end }) => end <= offset);
    this.#end = offset;
    this.#follower.cut(offset);
    return true;
  }

  /** Within one stretch only the first and the last post stay; a file that grows line by line would have one for each. */
  #thin(): void {
    const [before, last] = [this.#posts.at(-3), this.#posts.at(-1)];
    if (before !== undefined && last !== undefined && last.end - before.end < POST_EVERY) this.#posts.splice(-2, 1);
  }
}
