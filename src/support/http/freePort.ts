/**
 * Finds the nearest free port above a taken one, for an error message. Another process may take it in the meantime. Null if none
 * of the next hundred is free.
 */
import { createServer } from "node:net";

const tries = 100;
/** Only privileged users may open lower ports. */
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
