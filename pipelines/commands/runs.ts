/** `millrace runs`. */
import { Effect } from "effect";
import { commandOf, load, print } from "./Command.ts";
import { several, switchOf } from "./words.ts";

export const runs = commandOf({
  flags: {
    folders: several("DIR", "A folder in which runs lie; runs by default."),
    json: switchOf("json", "Print the results as JSON."),
  },
  read: ({ folders, json }) => Effect.succeed({ folders: folders.length === 0 ? ["runs"] : folders, json }),
  work: Effect.fnUntraced(function* (words) {
    const { runs } = yield* load(() => import("../runs.ts"));
    yield* print(yield* runs(words));
  }),
});
