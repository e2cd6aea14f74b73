/** Effect's HTTP client over Node's `fetch`. The modules are marked unstable, so only this file imports them. */
import { Effect, Layer, type Scope } from "effect";
import * as FetchHttpClient from "effect/http/FetchHttpClient";
import * as HttpClient from "effect/http/HttpClient";
import type { HttpClientError } from "effect/http/HttpClientError";
import type { HttpClientResponse } from "effect/http/HttpClientResponse";

/** A reply whose body is not read yet. */
export type Response = HttpClientResponse;
export type Failure = HttpClientError;
export type ResponseEffect = Effect.Effect<Response, Failure>;

const client = Effect.runSync(Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer));

/** The client aborts a request when its scope closes. */
export const scopedClient: HttpClient.HttpClient.With<HttpClientError, Scope.Scope> = HttpClient.withScope(client);

/** Sends no trace headers. */
export const untraced = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, HttpClient.TracerPropagationEnabled, false);

/** Returns a redirection as the answer. */
export const unredirected = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, FetchHttpClient.RequestInit, { redirect: "manual" });

/** The client as a service, with each of its answers wrapped. */
export const clientLayer = (wrap: (answer: ResponseEffect) => ResponseEffect): Layer.Layer<HttpClient.HttpClient> =>
  Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.transform(client, (answer) => wrap(answer)),
  );
