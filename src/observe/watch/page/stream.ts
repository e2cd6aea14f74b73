/**
 * Server-sent events over fetch, which can send the token; the browser's own EventSource cannot. A stream that breaks is opened again, later
 * each time, until it is closed; one that the server refuses is not.
 */
import { RequestRefused } from "./Client.ts";

export interface Message {
  readonly event: string;
  readonly data: string;
}

/** The whole messages of a text, and the rest. Comments, which the server sends as signs of life, are no messages. */
export const messagesIn = (text: string): { readonly messages: readonly Message[]; readonly rest: string } => {
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  const messages = blocks.flatMap((block) => {
    const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line));
    const valuesOf = (name: string) => fields.filter((field) => field?.[1] === name).map((field) => field?.[2] ?? "");
    const data = valuesOf("data");
    return data.length === 0 ? [] : [{ event: valuesOf("event").at(-1) ?? "message", data: data.join("\n") }];
  });
  return { messages, rest };
};

export interface Listener {
  readonly open: () => void;
  readonly message: (message: Message) => void;
  /** The stream broke, and is opened again. */
  readonly broke: () => void;
}

const FIRST_MS = 500;
const LONGEST_MS = 8_000;

const read = async (response: Response, listener: Listener): Promise<void> => {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const { messages, rest } = messagesIn(waiting + value);
    waiting = rest;
    for (const message of messages) listener.message(message);
  }
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Listens until the answered function is called. */
export const listen = (open: (signal: AbortSignal) => Promise<Response>, listener: Listener): (() => void) => {
  const controller = new AbortController();
  const { signal } = controller;
  const run = async (): Promise<void> => {
    for (let ms = FIRST_MS; !signal.aborted; ms = Math.min(LONGEST_MS, ms * 2)) {
      try {
        const response = await open(signal);
        listener.open();
        ms = FIRST_MS;
        await read(response, listener);
      } catch (cause) {
        if (cause instanceof RequestRefused && cause.status !== 503) return;
      }
      if (signal.aborted) return;
      listener.broke();
      await pause(ms, signal);
    }
  };
  void run();
  return () => controller.abort();
};
