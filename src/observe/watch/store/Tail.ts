/**
 * Follows a file of lines that grows, and that a resumed run cuts back. Each line goes to the follower once. Invariant: what the follower has
 * is what the file held up to `end`; where the file no longer does, the follower is told from where on, and gets the lines from there again.
 */
import type { FileHandle } from "node:fs/promises";
import { readLines } from "../../../support/files/readLines.ts";
import { readRange, withFile } from "../../../support/files/regularFile.ts";

export interface LineFollower {
  readonly line: (line: Buffer, offset: number) => void;
  /** Forgets the lines that begin at `offset` and behind it. */
  readonly cut: (offset: number) => void;
}

/** What the file held just before an offset where a line ended. */
interface Post {
  readonly end: number;
  readonly bytes: Buffer;
}

/** Bytes between two posts; so much is read again at most beside what was cut. */
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

  /** Reads what has come since; true where something has, or was cut. Calls are carried out one after the other. */
  advance(): Promise<boolean> {
    const next = this.#queue.then(() => this.#advance());
    this.#queue = next.catch(() => undefined);
    return next;
  }

  /** Leaves out what lies before `offset`, where a line begins. */
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
        // No newline within the stretch: a line longer than that, or the torn end.
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

  /** Cuts back to the newest post that still stands; true where something was cut. */
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

  /** Of the posts within one stretch only the first and the last stay: a file that grows line by line would have one for each. */
  #thin(): void {
    const [before, last] = [this.#posts.at(-3), this.#posts.at(-1)];
    if (before !== undefined && last !== undefined && last.end - before.end < POST_EVERY) this.#posts.splice(-2, 1);
  }
}
