/**
 * What a failed attempt means: try again, give this request up, or ask nothing more. Pure. Invariant: a message quotes at most a few words of
 * the endpoint's answer, and never the key.
 */
import { Option, Schema } from "effect";
import { shownText } from "../../config/shown.ts";
import { isTransient, retryAfterMs } from "../../support/http/retry.ts";
import type { HttpFailure, HttpReply } from "../../support/http/send.ts";

/**
 * `again`: worth another attempt; `waitMs` is what the endpoint asked for, null where it did not. `rejected`: this request will never be
 * answered. `filtered`: a filter has kept its chat back. `context`: its chat is longer than the model takes. `refused`: no request will be, for what the user set. `quota`: the account is
 * exhausted.
 */
export type Failure =
  | { readonly _tag: "again"; readonly waitMs: number | null; readonly busy: boolean; readonly message: string }
  | { readonly _tag: "filtered"; readonly message: string }
  | { readonly _tag: "rejected" | "context" | "refused" | "quota"; readonly message: string };

const longest = 160;

const ErrorBody = Schema.Struct({
  error: Schema.Union([
    Schema.String,
    Schema.Struct({
      message: Schema.optionalKey(Schema.NullOr(Schema.String)),
      type: Schema.optionalKey(Schema.NullOr(Schema.String)),
      code: Schema.optionalKey(Schema.Unknown),
    }),
  ]),
});
const decode = Schema.decodeUnknownOption(ErrorBody);

interface Said {
  readonly message: string;
  /** Kind and code, as words. */
  readonly code: string;
}

/** What an error body says; of a body that is none, its beginning. */
export const saidIn = (body: string | null): Said => {
  if (body === null) return { message: "a body that is too long", code: "" };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { message: body.trim(), code: "" };
  }
  const decoded = decode(value);
  if (Option.isNone(decoded)) return { message: body.trim(), code: "" };
  const { error } = decoded.value;
  if (typeof error === "string") return { message: error, code: "" };
  return { message: error.message ?? error.type ?? "", code: `${error.type ?? ""} ${String(error.code ?? "")}` };
};

const quotaCodes = /insufficient_quota|billing|credit_balance/;
const quotaTexts = /credit balance is too low|exceeded your current quota|insufficient (balance|credits)/i;
const filterCodes = /content_filter|content_policy/;
const contextCodes = /context_length_exceeded/;
const contextTexts = /maximum context length|prompt is too long|context (length|window)|too many tokens/i;

/** `text` in few words, without the key. */
export const excerpt = (text: string, key: string | null): string => {
  const without = key === null || key === "" ? text : text.replaceAll(key, "[key]");
  return shownText(without.replace(/\s+/g, " "), longest);
};

/** What an answer means that is no reply. `now` in Unix milliseconds. */
export const ofReply = ({ body, headers, status }: HttpReply, key: string | null, now: number): Failure => {
  const said = saidIn(body);
  const words = excerpt(said.message, key);
  const message = words === "" ? `status ${status}` : `status ${status}: ${words}`;
  // These may quote the key in part.
  if (status === 401 || status === 403) return { _tag: "refused", message: `status ${status}` };
  if (status === 402 || quotaCodes.test(said.code) || quotaTexts.test(said.message)) return { _tag: "quota", message };
  if (status === 404 || status === 405 || (status >= 300 && status < 400)) return { _tag: "refused", message };
  // 409: another request got in the way.
  if (isTransient(status) || status === 409) {
    const busy = status === 429 || status === 503 || status === 529;
    return { _tag: "again", waitMs: retryAfterMs(headers, now), busy, message };
  }
  if (status === 413 || contextCodes.test(said.code) || contextTexts.test(said.message)) {
    return { _tag: "context", message };
  }
  if (status >= 400) return { _tag: filterCodes.test(said.code) ? "filtered" : "rejected", message };
  return { _tag: "again", waitMs: null, busy: false, message: `no reply in the answer: ${words}` };
};

/** What it means that no answer came. */
export const ofTransport = ({ message }: HttpFailure): Extract<Failure, { readonly _tag: "again" }> => ({
  _tag: "again",
  waitMs: null,
  busy: false,
  message,
});
