/** Decompresses, decodes and checks a group that a worker has played. A long group takes many milliseconds, so it runs in a thread. */

import * as GroupCodec from "../GroupCodec.ts";
import { findFlaw } from "../groupFlaw.ts";
import type { CheckedResult, GroupResult, ReadingRules } from "./protocol.ts";

export const checkResult = ({ bytes, newestVersion, prompt }: GroupResult, rules: ReadingRules): CheckedResult => {
  try {
    const { text, ...numbers } = GroupCodec.unpack(bytes);
    const flaw = findFlaw(GroupCodec.assembleGroup({ text, ...numbers }, prompt), { ...rules, newestVersion });
    // Encoding again leaves out fields that the schema does not know.
    return flaw === undefined ? { _tag: "Passed", json: JSON.stringify(text), ...numbers } : { _tag: "Flawed", flaw };
  } catch (error) {
    if (!(error instanceof GroupCodec.BadGroup)) throw error;
    return { _tag: "Flawed", flaw: { kind: "refused", why: error.message } };
  }
};
