/**
 * Frees the memory of arrays that are not used again, which must own their buffers. The results of a pass over a large model would
 * otherwise lie about, several of them, until the next garbage collection.
 */
export const freeArrays = (arrays: readonly Float32Array[]): void => {
  for (const { buffer } of arrays) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
};
