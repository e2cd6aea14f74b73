/** Lengths that sequences are padded to in passes over whole sequences. */

/** The padded length of a sequence. There are few of them, because the runtime's arena grows with each new shape. */
export const bucket = (length: number): number => {
  const step = length <= 256 ? 16 : 64;
  return Math.max(2, Math.ceil(length / step) * step);
};
