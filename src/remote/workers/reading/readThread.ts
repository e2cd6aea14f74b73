/** Entry of the learner's thread that reads workers' results, so that they cost the main thread little. */
import { CallError, serve } from "../../../model/runtime/serve.ts";
import { checkResult } from "./checkResult.ts";
import type { ReadingRules, ResultReaderProtocol } from "./protocol.ts";

let readingRules: ReadingRules | undefined;

serve<ResultReaderProtocol>(
  {
    start: (request) => {
      readingRules = request;
      return null;
    },
    read: (results, { transfer }) => {
      if (readingRules === undefined) throw new CallError("not_started", "the rules of the run are missing");
      const rules = readingRules;
      const answers = results.map((result) => checkResult(result, rules));
      transfer(answers.flatMap((answer) => (answer._tag === "Passed" ? [answer.numbers] : [])));
      return answers;
    },
  },
  async () => undefined,
);
