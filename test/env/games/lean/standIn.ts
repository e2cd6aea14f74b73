/**
 * A fake Kimina Lean server: the same requests and answers over HTTP, with a small "Lean" that knows five tactics.
 * `ill` makes it misbehave for its next answers. Bodies that the protocol does not allow are refused with 422, as FastAPI refuses them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** A status with a body, or what becomes of the connection. */
export type Illness = { readonly status: number; readonly body: string } | "silent" | "cut";

export interface StandIn {
  readonly url: string;
  /** Every request except health checks. */
  readonly asked: ReceivedRequest[];
  /** Replacements for the next answers, one each. */
  readonly ill: Illness[];
  /** Resolves when a client has disconnected before its answer. */
  readonly gone: Promise<void>;
  readonly close: () => Promise<void>;
}

interface Snippet {
  readonly id: string;
  readonly code: string;
}

const at = (line: number, severity: "error" | "warning", data: string) => ({
  severity,
  pos: { line, column: 2 },
  endPos: { line, column: 9 },
  data,
});

/**
 * The messages about a script. `intro` and `step` leave the goal open, `qed` closes it, `sorry` and `admit` give up, and `loop` takes too long.
 * `imports` stands for a server that cannot load Mathlib; anything else is unknown.
 */
const checked = ({ code }: Snippet, timeout: number): { readonly error?: string; readonly response?: unknown } => {
  const lines = code.trimEnd().split("\n");
  const start = lines.findIndex((line) => line.endsWith(":= by"));
  const tactics = lines.slice(start + 1).map((line) => line.trim());
  if (tactics.includes("imports")) return { error: `Lean REPL header command timed out in ${timeout} seconds` };
  if (tactics.includes("loop")) return { error: `Lean REPL command timed out in ${timeout} seconds` };
  if (tactics.includes("confuse")) return { response: { message: "Unknown environment.", time: 0.1 } };
  const messages = tactics.flatMap((tactic, index) =>
    ["intro", "step", "qed", "sorry", "admit"].includes(tactic)
      ? []
      : [at(start + index + 2, "error", "unknown tactic")],
  );
  const gaveUp = tactics.some((tactic) => tactic === "sorry" || tactic === "admit");
  if (gaveUp) messages.push(at(start + 1, "warning", "declaration uses 'sorry'"));
  else if (!tactics.includes("qed")) messages.push(at(start + 1, "error", "unsolved goals\np q : Prop\n⊢ q ∧ p"));
  const sorries = tactics.includes("sorry")
    ? [{ pos: { line: 1, column: 2 }, endPos: { line: 1, column: 7 }, goal: "⊢ q" }]
    : [];
  return { response: { env: 1, ...(messages.length > 0 && { messages }), ...(sorries.length > 0 && { sorries }) } };
};

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** The snippets of a well-formed request, or null. */
const snippetsOf = (path: string, body: unknown): readonly Snippet[] | null => {
  const { codes, snippets, timeout } = record(body);
  if (!Number.isInteger(timeout)) return null;
  const list = path === "/verify" ? codes : snippets;
  if (!Array.isArray(list) || list.length === 0) return null;
  const read = list.map((one: unknown) => {
    const { code, custom_id, id, proof } = record(one);
    return path === "/verify" ? { id: custom_id, code: proof } : { id, code };
  });
  return read.every(({ code, id }) => typeof id === "string" && typeof code === "string") ? (read as Snippet[]) : null;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
};

const say = (response: ServerResponse, status: number, value: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
};

interface Options {
  /** The demands on its clients. */
  readonly key?: string;
  readonly health?: unknown;
}

export const standIn = async ({ health = { status: "ok" }, key }: Options = {}): Promise<StandIn> => {
  const requests: ReceivedRequest[] = [];
  const ill: Illness[] = [];
  let leave = (): void => undefined;
  const gone = new Promise<void>((resolve) => {
    leave = resolve;
  });

  const server = createServer(async (request, response) => {
    response.on("close", () => {
      if (!response.writableEnded) leave();
    });
    const path = request.url ?? "";
    if (path === "/health") return say(response, 200, health);
    const { authorization } = request.headers;
    const text = await bodyOf(request);
    const body: unknown = text === "" ? null : JSON.parse(text);
    requests.push({ path, authorization, body });
    if (path !== "/api/check" && path !== "/verify") return say(response, 404, { detail: "Not Found" });
    if (key !== undefined && authorization !== `Bearer ${key}`) {
      return say(response, 401, { detail: authorization === undefined ? "Missing API key" : "Invalid API key" });
    }
    const illness = ill.shift();
    if (illness === "silent") return;
    if (illness === "cut") return void response.destroy();
    if (illness !== undefined) return void response.writeHead(illness.status).end(illness.body);
    const snippets = snippetsOf(path, body);
    if (snippets === null)
      return say(response, 422, { detail: [{ type: "missing", loc: ["body"], msg: "Field required" }] });
    const results = snippets.map((snippet) => {
      const found = checked(snippet, Number(record(body).timeout));
      return path === "/verify" ? { custom_id: snippet.id, ...found } : { id: snippet.id, time: 0.1, ...found };
    });
    say(response, 200, { results });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: requests,
    ill,
    gone,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
