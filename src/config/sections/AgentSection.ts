/** The section `agent`: an agent of the user's own, whose episodes are played under one tag. */
import { Schema } from "effect";
import { field, optionalPath, whole } from "../field.ts";

export const AgentSection = Schema.Struct({
  path: field(
    optionalPath,
    "",
    "Module of an agent (defineAgent of millrace/agent), relative to the run file; empty for none.",
  ),
  tag: field(Schema.NonEmptyString, "Agent", "Tag under which the agent's groups are played, beside presets or alone."),
  threads: field(whole(1, 256), 2, "Threads in which agents run, many episodes in each."),
  seconds: field(whole(1, 86_400), 300, "Most seconds of an episode; one that takes longer has failed."),
  blocked_seconds: field(
    whole(1, 3_600),
    30,
    "Seconds without a sign of life after which a thread counts as blocked, which fails the episodes in it.",
  ),
  max_calls: field(whole(1, 100_000), 64, "Most calls of an episode; later ones get an empty answer that is cut."),
});
