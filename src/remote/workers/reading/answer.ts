/** What is made of a result: decompressed, decoded, and held against what it was given to play. Pure; a millisecond of a short group. */
import { flawOf } from "../examine.ts";
import * as GroupCodec from "../GroupCodec.ts";
import type { Answer, Result, Rules } from "./protocol.ts";

export const answerTo = ({ bytes, newest, prompt }: Result, rules: Rules): Answer => {
  try {
    const { text, ...numbers } = GroupCodec.open(bytes);
    const flaw = flawOf(GroupCodec.groupOf({ text, ...numbers }, prompt), { ...rules, newest });
    // Written anew: what the schema does not know has been left out.
    return flaw === undefined ? { _tag: "Passed", json: JSON.stringify(text), ...numbers } : { _tag: "Flawed", flaw };
  } catch (error) {
    if (!(error instanceof GroupCodec.BadGroup)) throw error;
    return { _tag: "Flawed", flaw: { kind: "refused", why: error.message } };
  }
};
