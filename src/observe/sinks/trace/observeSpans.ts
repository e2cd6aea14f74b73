/**
 * A tracer that reports the begin and end of its spans to an observer. An inner tracer makes the spans, and may send them
 * elsewhere.
 */
import { type Context, type Exit, type Option, Tracer } from "effect";

/** Called when a span begins; the result is called when it has ended. */
export type SpanObserver = (
  name: string,
  start: bigint,
) => (span: Tracer.Span, end: bigint, exit: Exit.Exit<unknown, unknown>) => void;

class ObservedSpan implements Tracer.Span {
  readonly _tag = "Span";
  readonly #inner: Tracer.Span;
  readonly #ended: ReturnType<SpanObserver>;

  constructor(inner: Tracer.Span, ended: ReturnType<SpanObserver>) {
    this.#inner = inner;
    this.#ended = ended;
  }

  get name(): string {
    return this.#inner.name;
  }
  get spanId(): string {
    return this.#inner.spanId;
  }
  get traceId(): string {
    return this.#inner.traceId;
  }
  get parent(): Option.Option<Tracer.AnySpan> {
    return this.#inner.parent;
  }
  get annotations(): Context.Context<never> {
    return this.#inner.annotations;
  }
  get status(): Tracer.SpanStatus {
    return this.#inner.status;
  }
  get attributes(): ReadonlyMap<string, unknown> {
    return this.#inner.attributes;
  }
  get links(): readonly Tracer.SpanLink[] {
    return this.#inner.links;
  }
  get sampled(): boolean {
    return this.#inner.sampled;
  }
  get kind(): Tracer.SpanKind {
    return this.#inner.kind;
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    const open = this.#inner.status._tag === "Started";
    this.#inner.end(endTime, exit);
    if (open) this.#ended(this.#inner, endTime, exit);
  }
  attribute(key: string, value: unknown): void {
    this.#inner.attribute(key, value);
  }
  event(name: string, startTime: bigint, attributes?: Record<string, unknown>): void {
    this.#inner.event(name, startTime, attributes);
  }
  addLinks(links: readonly Tracer.SpanLink[]): void {
    this.#inner.addLinks(links);
  }
}

export const observeSpans = (inner: Tracer.Tracer, observe: SpanObserver): Tracer.Tracer =>
  Tracer.make({
    span: (options) => new ObservedSpan(inner.span(options), observe(options.name, options.startTime)),
    context: inner.context,
  });
