/** The calls of two threads that carry model and weights between machines: the learner's serves them, a worker's fetches them. */
import type { MessagePort } from "node:worker_threads";
import type { Version } from "../../../domain/Episode.ts";
import type { ModelConfig } from "../../../model/checkpoint/ModelConfig.ts";
import type { Protocol } from "../../../model/runtime/ThreadProtocol.ts";

export interface ServeRequest {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Further names of the server, beside its address. */
  readonly hosts: readonly string[];
  /** First part of every path, so that two starts of a run are never mixed up. */
  readonly epoch: string;
  /** Folder of the versions: one folder `vN` each, with a manifest. */
  readonly weights: string;
  /** Folder of the base model of adapters; null if each version is a whole model. */
  readonly model: string | null;
  /** Token that every request must bear; null requires none. */
  readonly token: string | null;
  /** Files of the certificate and its key; null serves without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
}

export interface ServeProtocol extends Protocol {
  /** Returns the address of the server. */
  readonly calls: { readonly start: { readonly request: ServeRequest; readonly response: string } };
  readonly events: never;
}

/** A folder on a server, and the credentials to fetch it with. */
export interface FileSource {
  /** Address of a folder with a manifest. */
  readonly url: string;
  readonly token: string | null;
  /** File of the authorities that check the server's certificate; null takes the system's. */
  readonly ca: string | null;
}

export interface FetchRequest {
  readonly from: FileSource;
  /** Path of the folder; with `byContents`, its parent, and the contents' hash is the folder's name. */
  readonly into: string;
  readonly byContents: boolean;
  /** True to fetch the weights alone: the other files are here already. */
  readonly weightsOnly: boolean;
}

export interface AdoptRequest {
  readonly version: Version;
  /** The version's folder, fetched. */
  readonly folder: string;
}

export interface FetchProtocol extends Protocol {
  readonly calls: {
    /** Returns the folder's path. */
    readonly fetch: { readonly request: FetchRequest; readonly response: string };
    /** Names the generators that receive adopted versions. Called once, before `adopt`. */
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
