/** Only listed places of src/ and pipelines/ read the wall clock. It may be set back or forward at any time, so nothing waits by it. */
import { describe, expect, it } from "vitest";
import { readSources } from "./imports.ts";

/** Reads the time of day. `performance.now` and the monotonic clock are not among them. */
const reading = /Date\.now\(|new Date\(\)|currentTime(Millis|Nanos)|DateTime\.now|performance\.timeOrigin/;

/** Each file that may, with what it does with the time: it is shown, written, or compared with what another process wrote. */
const reasons: Readonly<Record<string, string>> = {
  "src/domain/Instant.ts": "shown and written, beside the monotonic time that counts",
  "src/tools/endpoints/ChatClient.ts":
    "a Retry-After until a date, in an answer that does not say the endpoint's own time; it becomes a duration at once",
  "src/remote/generation/Channel.ts": "the same",
  "src/observe/sinks/wandb/Client.ts": "the same",
  "src/remote/tinker/Client.ts": "the same, and when a server was lost, which is shown",
  "src/remote/workers/RemoteGroups.ts": "shown: since when a worker is lost",
  "src/remote/workers/nats/connect.ts": "shown: since when the broker does not answer",
  "src/remote/tinker/worker.ts": "written: part of a name at the server, which needs only be new",
  "src/observe/record/RunLock.ts":
    "shown: since when a run is written; whether its process lives is decided by number, start and boot",
  "src/support/process/temporaryFolder.ts": "written: the owner of a folder, judged as that of a lock",
  "src/observe/record/RunFolder.ts": "written: the name of a run's folder",
  "src/observe/record/events/Recorder.ts": "written: the time of an event; the order is that of the lines",
  "src/flow/Stall.ts": "shown: since when nothing has happened",
  "src/engine/stages/close.ts": "written: the time of a step",
  "src/engine/Training.ts": "written: the time of the start",
  "src/engine/Telemetry.ts": "written: the start of the run, for sinks",
  "src/observe/sinks/trace/Trace.ts": "written: the time of an entry, on the axis of Effect's spans",
  "src/observe/sinks/tensorboard/TensorBoard.ts": "written: the time of an entry",
  "src/observe/sinks/wandb/Wandb.ts": "written: the time of a line and of the end",
  "src/observe/watch/report/writeReport.ts": "shown: when a report was written",
  "src/agents/session/Session.ts": "written: when an answer was made, which dialects tell their clients",
  "src/agents/session/endpoint.ts": "shown: the time of the list of models",
  "pipelines/sweep.ts": "shown: when a page was written",
  "pipelines/episodesCopy.ts": "written: part of a file's name",
  "pipelines/evaluateOne.ts": "written: when an evaluation ended",
  "pipelines/leaderboard.ts": "shown: when a page was written",
};

const found = readSources("src", "pipelines")
  .filter(({ text }) => text.split("\n").some((line) => !/^\s*(\/\/|\/?\*)/.test(line) && reading.test(line)))
  .map(({ path }) => path);

describe("the wall clock", () => {
  it("is read only where the time is shown, written, or another's", () => {
    expect(found.filter((path) => !Object.hasOwn(reasons, path))).toEqual([]);
  });

  it("is read wherever this list says so", () => {
    expect(Object.keys(reasons).filter((path) => !found.includes(path))).toEqual([]);
  });

  it("is recognised in each of its forms", () => {
    for (const line of [
      "Date.now()",
      "new Date()",
      "yield* Clock.currentTimeMillis",
      "clock.currentTimeNanosUnsafe()",
    ]) {
      expect(line).toMatch(reading);
    }
    expect("clock.monotonicTimeNanosUnsafe() - performance.now() + new Date(at)").not.toMatch(reading);
  });
});
