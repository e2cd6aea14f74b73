/** The part of the WebAssembly interface used here: neither the language's library nor Node's types declare it. */
declare namespace WebAssembly {
  /** Compiled code. */
  class Module {
    private constructor();
    readonly compiled: unique symbol;
  }
  /** Linear memory, in pages of 64 KiB. */
  class Memory {
    constructor(descriptor: { readonly initial: number; readonly maximum?: number });
    readonly buffer: ArrayBuffer;
  }
  const compile: (bytes: Uint8Array) => Promise<Module>;
}
