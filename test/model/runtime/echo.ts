/** Protocol of echoWorker.ts. */
export interface EchoProtocol {
  readonly calls: {
    readonly echo: { readonly request: string; readonly response: string };
    readonly refuse: { readonly request: string; readonly response: never };
    readonly throwInside: { readonly request: null; readonly response: never };
    readonly never: { readonly request: string; readonly response: never };
    readonly cancelled: { readonly request: null; readonly response: readonly string[] };
    readonly move: { readonly request: Float32Array<ArrayBuffer>; readonly response: Float32Array<ArrayBuffer> };
    readonly throwLater: { readonly request: null; readonly response: never };
    /** Holds the thread until the cell is 1 and it is notified. */
    readonly block: { readonly request: Int32Array<SharedArrayBuffer>; readonly response: null };
    readonly exit: { readonly request: number; readonly response: never };
  };
  readonly events: string;
}
