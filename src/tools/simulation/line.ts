/** A line of flow stages in virtual time. Its results are what an engine without any overhead would reach. */
import { Agenda } from "./Agenda.ts";
import { FlowStage, type Sink } from "./FlowStage.ts";

export interface LineStage {
  /** Items that may wait in front of it. */
  readonly inbox: number;
  readonly concurrency: number;
  /** Time of an item's service. */
  readonly service: (item: number) => number;
}

/** When each of `items` items leaves the last stage, in order of leaving; the first stage is offered items without end. */
export const line = (items: number, stages: readonly LineStage[]): readonly number[] => {
  const agenda = new Agenda();
  const left: number[] = [];
  const end: Sink<number> = {
    offer: (_, accepted) => {
      left.push(agenda.now);
      accepted();
    },
  };
  const first = stages.reduceRight<Sink<number>>(
    (next, { inbox, concurrency, service }) =>
      new FlowStage<number, number>({
        room: inbox,
        slots: concurrency,
        work: (item, done) => agenda.after(service(item), () => done([item])),
        next,
      }),
    end,
  );
  const feed = (item: number): void => {
    if (item < items) first.offer(item, () => agenda.after(0, () => feed(item + 1)));
  };
  feed(0);
  agenda.run();
  return left;
};
