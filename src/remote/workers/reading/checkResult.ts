/** Decompresses, decodes and checks a result. A short group takes a millisecond. */

import * as GroupCodec from "../GroupCodec.ts";
import { findFlaw } from "../groupFlaw.ts";
import type { CheckedResult, GroupResult, ReadingRules } from "./protocol.ts";

export const checkResult = ({ bytes, newest, prompt }: GroupResult, rules: ReadingRules): CheckedResult => {
  try {
    const { text, ...numbers } = GroupCodec.unpack(bytes);
    const flaw = findFlaw(GroupCodec.assembleGroup({ text, ...numbers }, prompt), { ...rules, newest });
    // The text is encoded anew, without the fields that the schema does not know.
    return flaw === undefined ? { _tag: "Passed", json: JSON.stringify(text), ...numbers } : { _tag: "Flawed", flaw };
  } catch (error) {
    if (!(error instanceof GroupCodec.BadGroup)) throw error;
    return { _tag: "Flawed", flaw: { kind: "refused", why: error.message } };
  }
};
