/** The section `agent`: an agent of the user's own, whose episodes are played under one tag. It is a module, a command, a server, or programs outside. */
import { Schema } from "effect";
import { field, maxListLength, optionalPath, optionalUrl, port, whole } from "../field.ts";

export const AgentSection = Schema.Struct({
  path: field(
    optionalPath,
    "",
    "Module of an agent (defineAgent of millrace/agent), relative to the run file; empty for none.",
  ),
  command: field(
    Schema.Array(Schema.NonEmptyString),
    [],
    "Command of an agent in any language, such as [python3, agent.py], run once an episode in the folder that the run was started in; empty for none.",
  ),
  url: field(
    optionalUrl,
    "",
    "Address of an agent in a server of your own (rolloutHandler of millrace/agent), which gets one POST an episode; empty for none.",
  ),
  outside: field(
    Schema.Boolean,
    false,
    "Episodes are opened by programs that run elsewhere on this machine, by POST /v1/episodes at agent.port.",
  ),
  tasks: field(
    optionalPath,
    "",
    "JSONL file of the tasks of a command or of programs outside, relative to the run file; a module brings its own.",
  ),
  levels: field(
    Schema.Array(Schema.NonEmptyString).check(Schema.isMaxLength(maxListLength)),
    [],
    "Levels of the tasks, such as [easy, hard]; each task of a list names one as its level. Empty for tasks without levels.",
  ),
  tag: field(Schema.NonEmptyString, "Agent", "Tag under which the agent's groups are played, beside presets or alone."),
  reply_prefix: field(
    Schema.Literals(["auto", "template", "none"]),
    "auto",
    "Text that replies begin with: that of rollout.template, or none; auto is the template's for an embedded model, and none for a folder with a chat template of its own.",
  ),
  port: field(port, 0, "Port of the endpoint that agents call, on loopback; 0 takes a free one."),
  threads: field(whole(1, 256), 2, "Threads in which a module's agents run, many episodes in each."),
  isolate: field(
    Schema.Literals(["thread", "process"]),
    "thread",
    "Runs a module's agents in threads, many in each, or each episode in a process of its own.",
  ),
  processes: field(
    whole(1, 1_024),
    16,
    "Most processes at once, of a command or where agent.isolate is process; further episodes wait for one.",
  ),
  seconds: field(whole(1, 86_400), 300, "Most seconds of an episode; one that takes longer has failed."),
  open_seconds: field(
    whole(1, 86_400),
    300,
    "Seconds after which an episode that no program outside has opened fails as never_opened.",
  ),
  blocked_seconds: field(
    whole(1, 3_600),
    30,
    "Seconds without a sign of life after which a thread counts as blocked, which fails the episodes in it.",
  ),
  max_calls: field(whole(1, 100_000), 64, "Most calls of an episode; later ones get an empty answer that is cut."),
});
