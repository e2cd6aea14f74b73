/**
 * The nearest port above one that cannot be had. Enters: a host and a port; leaves: a port that was free a moment ago, or null when none of
 * the next ones is.
 */
import { createServer } from "node:net";

const tries = 100;
/** The system keeps those below to itself. */
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
