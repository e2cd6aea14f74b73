/**
 * Classifies a failed attempt: try again, give this request up, or ask nothing more. Pure. Invariant: a message quotes at most a few words
 * of the endpoint's answer, and never the key.
 */
import { Option, Schema } from "effect";
import { showText } from "../../config/show.ts";
import { errorText, jsonOrUndefined, withoutKey } from "../../support/http/errorText.ts";
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

const Coded = Schema.Struct({
  error: Schema.Struct({
    type: Schema.optionalKey(Schema.NullOr(Schema.String)),
    code: Schema.optionalKey(Schema.Unknown),
  }),
});
const decodeCoded = Schema.decodeUnknownOption(Coded);

/** Kind and code of an error, as words. */
const codeIn = (body: string | null): string => {
  const coded = decodeCoded(jsonOrUndefined(body));
  return Option.isNone(coded) ? "" : `${coded.value.error.type ?? ""} ${String(coded.value.error.code ?? "")}`;
};

const quotaCodes = /insufficient_quota|billing|credit_balance/;
const quotaTexts = /credit balance is too low|exceeded your current quota|insufficient (balance|credits)/i;
const filterCodes = /content_filter|content_policy/;
const contextCodes = /context_length_exceeded/;
const contextTexts = /maximum context length|prompt is too long|context (length|window)|too many tokens/i;

/** Classifies an answer that is no reply. `now` is in Unix milliseconds. */
export const ofReply = ({ body, headers, status }: HttpReply, key: string | null, now: number): Failure => {
  const [said, code] = [errorText(body), codeIn(body)];
  const words = showText(withoutKey(said, key), longest);
  const message = words === "" ? `status ${status}` : `status ${status}: ${words}`;
  // These answers may quote the key in part.
  if (status === 401 || status === 403) return { _tag: "refused", message: `status ${status}` };
  if (status === 402 || quotaCodes.test(code) || quotaTexts.test(said)) return { _tag: "quota", message };
  if (status === 404 || status === 405 || (status >= 300 && status < 400)) return { _tag: "refused", message };
  // Status 409 says that another request got in the way.
  if (isTransient(status) || status === 409) {
    const busy = status === 429 || status === 503 || status === 529;
    return { _tag: "again", waitMs: retryAfterMs(headers, now), busy, message };
  }
  if (status === 413 || contextCodes.test(code) || contextTexts.test(said)) {
    return { _tag: "context", message };
  }
  if (status >= 400) return { _tag: filterCodes.test(code) ? "filtered" : "rejected", message };
  return { _tag: "again", waitMs: null, busy: false, message: `no reply in the answer: ${words}` };
};

/** Classifies a request that got no answer. */
export const ofTransport = ({ message }: HttpFailure): Extract<Failure, { readonly _tag: "again" }> => ({
  _tag: "again",
  waitMs: null,
  busy: false,
  message,
});
