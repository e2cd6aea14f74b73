/** The calls of the threads that carry model and weights between machines: the learner's, which serves them, and a worker's, which fetches them. */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../../../domain/Episode.ts";
import type { ModelConfig } from "../../../model/checkpoint/ModelConfig.ts";
import type { Protocol } from "../../../model/runtime/ThreadProtocol.ts";

export interface ServeRequest {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** Names of the server beside its address. */
  readonly hosts: readonly string[];
  /** Begins every path, so that two starts of a run are never mixed up. */
  readonly epoch: string;
  /** Folder of the versions, one folder `vN` each, with manifests. */
  readonly weights: string;
  /** Folder of the base model beside which versions are adapters; null where each version is a whole model. */
  readonly model: string | null;
  /** What every request must bear; null asks for nothing. */
  readonly token: string | null;
  /** Files of the certificate and its key; null serves without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

export interface ServeProtocol extends Protocol {
  /** Gives the address of the server. */
  readonly calls: { readonly start: { readonly request: ServeRequest; readonly response: string } };
  readonly events: never;
}

/** Where files are fetched, and as whom. */
export interface Source {
  /** Address of a folder with a manifest. */
  readonly url: string;
  readonly token: string | null;
  /** File of the authorities that the server's certificate is checked by; null takes the system's. */
  readonly ca: string | null;
}

export interface FetchRequest {
  readonly from: Source;
  /** The folder, or with `byContents` where it is to have a name made of its contents. */
  readonly into: string;
  readonly byContents: boolean;
  /** Only what numbers are read from: the rest is here already. */
  readonly weightsOnly: boolean;
}

export interface AdoptRequest {
  readonly version: Version;
  /** The version's folder, fetched. */
  readonly folder: string;
}

export interface FetchProtocol extends Protocol {
  readonly calls: {
    /** Gives the folder. */
    readonly fetch: { readonly request: FetchRequest; readonly response: string };
    /** Whose generators are given the weights of folders. Once, before `adopt`. */
    readonly start: {
      readonly request: {
        readonly ports: readonly MessagePort[];
        readonly kind: "full" | "adapter";
        readonly config: ModelConfig;
      };
      readonly response: null;
    };
    readonly adopt: { readonly request: AdoptRequest; readonly response: null };
  };
  readonly events: never;
}
