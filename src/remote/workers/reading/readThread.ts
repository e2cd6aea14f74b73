/** Entry of the learner's thread that reads results of workers, so that what they send costs the main thread little. */
import { CallError, serve } from "../../../model/runtime/serve.ts";
import { answerTo } from "./answer.ts";
import type { ReadProtocol, Rules } from "./protocol.ts";

let rules: Rules | undefined;

serve<ReadProtocol>(
  {
    start: (request) => {
      rules = request;
      return null;
    },
    read: (results, { transfer }) => {
      if (rules === undefined) throw new CallError("not_started", "nothing was said of the run");
      const known = rules;
      const answers = results.map((result) => answerTo(result, known));
      transfer(answers.flatMap((answer) => (answer._tag === "Passed" ? [answer.numbers] : [])));
      return answers;
    },
  },
  async () => undefined,
);
