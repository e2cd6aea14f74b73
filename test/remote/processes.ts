/** Servers that a test starts: each leads a process group of its own, because some of them start processes of their own, and ends with it. */
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";

/** Ends the group that a process leads, where it has not ended by itself, and waits until it has. */
export const endGroup = async (leader: ChildProcess): Promise<void> => {
  if (leader.exitCode !== null || leader.signalCode !== null || leader.pid === undefined) return;
  const ended = new Promise<void>((done) => leader.once("exit", () => done()));
  process.kill(-leader.pid, "SIGKILL");
  await ended;
};

/** A port of this machine that nobody listens at. */
export const freePort = (): Promise<number> =>
  new Promise((done, fail) => {
    const probe = createServer().once("error", fail);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => done(port));
    });
  });
