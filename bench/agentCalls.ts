/**
 * The client of the bench of the agents' endpoint, in a process of its own: it plays conversations by plain requests and tells how long each call
 * took. A conversation is a key, and its calls come one after the other, as an agent's do.
 */
import { Agent, request } from "node:http";

/** Conversations to play: as many at once as `lanes`, as fast as they can or by a rate. */
export interface CallPlan {
  readonly url: string;
  readonly path: string;
  readonly keys: readonly string[];
  /** Calls of a conversation. */
  readonly turns: number;
  readonly lanes: number;
  /** Calls begun in a second; null begins each as soon as its conversation can. */
  readonly perSecond: number | null;
}

/** Milliseconds of each call; by a rate, from the time at which it was due. */
export interface CallTimes {
  readonly ms: readonly number[];
  readonly seconds: number;
}

interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

const post = (url: string, key: string, body: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      authorization: `Bearer ${key}`,
    };
    const outgoing = request(url, { method: "POST", headers, agent }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => {
        const text = Buffer.concat(pieces).toString();
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${response.statusCode}: ${text}`));
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });

/** A conversation as it grows: each call adds a user's text of some twenty tokens. */
class Conversation {
  readonly #messages: ChatMessage[] = [{ role: "system", content: "frozen_lake" }];
  turns = 0;

  async call(url: string, key: string): Promise<void> {
    this.#messages.push({ role: "user", content: `P___\n_O__\n__O_\n___G\n${this.turns++}` });
    const answer = JSON.parse(await post(url, key, JSON.stringify({ model: "policy", messages: this.#messages })));
    this.#messages.push({ role: "assistant", content: answer.choices[0].message.content });
  }
}

const play = async ({ keys, lanes, path, perSecond, turns, url }: CallPlan): Promise<CallTimes> => {
  const ms: number[] = [];
  const begun = performance.now();
  let next = 0;
  /** Each lane has every so manieth due time. */
  const dueAt = (lane: number, call: number): number =>
    perSecond === null ? performance.now() : begun + ((call * lanes + lane) * 1_000) / perSecond;
  const runLane = async (lane: number): Promise<void> => {
    let calls = 0;
    while (next < keys.length) {
      const key = keys[next++] ?? "";
      const conversation = new Conversation();
      for (let turn = 0; turn < turns; turn++) {
        const due = dueAt(lane, calls++);
        const wait = due - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        await conversation.call(url + path, key);
        ms.push(performance.now() - due);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)));
  return { ms, seconds: (performance.now() - begun) / 1_000 };
};

process.on("message", (plan: CallPlan) => {
  play(plan).then(
    (times) => process.send?.(times),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
