/**
 * The search in the list of episodes, and its form as one part of the address. Invariant: `parse(format(search))` is the search,
 * and any text parses to a search.
 */
import type { VerdictName } from "../../../../domain/EpisodeRecord.ts";
import type { EpisodeQuery } from "../Client.ts";
import { verdicts } from "../filter/windows.ts";

export interface Search {
  readonly from: number | null;
  readonly to: number | null;
  readonly split: "train" | "val" | null;
  readonly tag: string | null;
  readonly success: boolean | null;
  readonly verdict: VerdictName | null;
  readonly offset: number;
}

export const everything: Search = {
  from: null,
  to: null,
  split: null,
  tag: null,
  success: null,
  verdict: null,
  offset: 0,
};

/** Rows of a page. */
export const pageSize = 50;

const whole = (text: string | null): number | null => {
  const value = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : null;
};

export const parse = (text: string): Search => {
  const values = new URLSearchParams(text);
  const split = values.get("split");
  const success = values.get("success");
  const tag = values.get("tag");
  return {
    from: whole(values.get("from")),
    to: whole(values.get("to")),
    split: split === "train" || split === "val" ? split : null,
    tag: tag === "" ? null : tag,
    success: success === "true" ? true : success === "false" ? false : null,
    verdict: verdicts.find((one) => one === values.get("verdict")) ?? null,
    offset: whole(values.get("offset")) ?? 0,
  };
};

export const format = (search: Search): string => {
  const values = new URLSearchParams();
  for (const [key, value] of Object.entries(search)) {
    if (value !== null && !(key === "offset" && value === 0)) values.set(key, String(value));
  }
  return values.toString();
};

/** The query for the server; `upTo` is the step of the shown moment. */
export const queryOf = (search: Search, upTo: number | null): EpisodeQuery => {
  const { from, offset, split, success, tag, verdict } = search;
  const to = search.to === null ? upTo : upTo === null ? search.to : Math.min(search.to, upTo);
  return {
    offset,
    limit: pageSize,
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
    ...(split === null ? {} : { split }),
    ...(tag === null ? {} : { tag }),
    ...(success === null ? {} : { success }),
    ...(verdict === null ? {} : { verdict }),
  };
};
