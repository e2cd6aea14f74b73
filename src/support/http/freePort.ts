/**
 * The nearest free port above one that is taken, for an error message. It was free a moment ago; null when none of the next hundred is.
 */
import { createServer } from "node:net";

const tries = 100;
/** Lower ports are open to privileged users only. */
const firstOpenPort = 1024;

const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });

export const freePortAbove = async (host: string, port: number): Promise<number | null> => {
  const first = Math.max(firstOpenPort, port + 1);
  for (let candidate = first; candidate < Math.min(65_536, first + tries); candidate++) {
    if (await isFree(host, candidate)) return candidate;
  }
  return null;
};
