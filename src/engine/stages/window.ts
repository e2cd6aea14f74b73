/** The window stage: gathers the groups of one update. Its concurrency is 1 by nature. */
import { Effect } from "effect";
import { type Group, idsOf } from "../../domain/Group.ts";
import * as RunState from "../../domain/RunState.ts";
import { Admitter } from "../../flow/admission/Admitter.ts";
import { Bus } from "../../flow/Bus.ts";
import * as Stage from "../../flow/Stage.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import * as WindowAssembler from "../../flow/WindowAssembler.ts";
import { Config } from "../RunContext.ts";

export const make = Effect.gen(function* () {
  const { pipeline } = yield* Config;
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const { rules } = yield* Admitter;
  let assembler = WindowAssembler.start(pipeline.window_order, rules.groups, bus.state().step, rules.refills);
  bus.onEvent((event) => {
    assembler = WindowAssembler.observe(assembler, event);
  });
  const gather = Effect.fnUntraced(function* (group: Group) {
    const window = RunState.windowOf(bus.state(), group.prompt.group);
    const { state, windows } = WindowAssembler.addGroup(assembler, group, window);
    assembler = state;
    for (const { failed, groups, index } of windows) {
      yield* bus.emit({ _tag: "Windowed", window: index, groups: idsOf([...groups, ...failed]) });
    }
    return windows;
  });
  // If admission closed early, the groups left here make no whole window, and the run drops them.
  const rest = Effect.succeed([]);
  return registry.add(yield* Stage.gather({ name: "window", inbox: pipeline.inbox, run: gather, rest }));
});
