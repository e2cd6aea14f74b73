/** Faults put into the engine on purpose, each of which exploration must find. A fault replaces a text that occurs once in its file. */

/** A text of a source file, and the faulty one that takes its place. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly fault: string;
}

export const mutations: readonly Mutation[] = [
  {
    name: "admission is not woken by the adoption of a version",
    file: "src/flow/admission/Admitter.ts",
    text: 'if (_tag !== "Admitted") changed.openUnsafe();',
    fault: 'if (_tag !== "Admitted" && _tag !== "WeightsAdopted") changed.openUnsafe();',
  },
  {
    name: "admission is not woken by the end of a pause",
    file: "src/flow/admission/Admitter.ts",
    text: 'if (_tag !== "Admitted") changed.openUnsafe();',
    fault: 'if (_tag !== "Admitted" && _tag !== "Controlled") changed.openUnsafe();',
  },
  {
    name: "a level is drawn from the newest posterior",
    file: "src/flow/admission/Admitter.ts",
    text: "TaskSampler.posteriorFor(taskSampler, position.consumed, window)",
    fault: "TaskSampler.newest(taskSampler)",
  },
  {
    name: "an inbox forgets the worker that it should wake",
    file: "src/flow/Inbox.ts",
    text: "        this.#admit(queued);\n        this.#wake();",
    fault: "        this.#admit(queued);",
  },
  {
    name: "an inbox forgets the producer that waits outside",
    file: "src/flow/Inbox.ts",
    text: 'if (this.#options.handover === "queued") queueMicrotask(() => next.producer?.(Effect.void));',
    fault: "",
  },
  {
    name: "a halted inbox does not tell that its last item is done",
    file: "src/flow/Inbox.ts",
    text: "if (this.#taken === 0) for (const resume of this.#halting.splice(0)) resume(Effect.void);",
    fault: "",
  },
  {
    name: "a call keeps its permit",
    file: "src/flow/Stage.ts",
    text: "        gauge.delivered();\n        permits.release();",
    fault: "        gauge.delivered();",
  },
  {
    name: "a permit is granted beyond the limit",
    file: "src/flow/admission/Permits.ts",
    text: "const isFree = granted < limit && nextLine() === null;",
    fault: "const isFree = granted <= limit && nextLine() === null;",
  },
  {
    name: "an episode that ends does not leave the barrier",
    file: "src/flow/admission/Barrier.ts",
    text: "Effect.ensuring(episode, leave(1))",
    fault: "Effect.tap(episode, leave(0))",
  },
  {
    name: "windows are judged in the order in which they arrive",
    file: "src/flow/ReorderBuffer.ts",
    text: "held.find(({ window }) => window.index === next);",
    fault: "held[0];",
  },
  {
    name: "a window takes the groups that finished first",
    file: "src/flow/WindowAssembler.ts",
    text: 'const candidates = order === "completion" ? groups.slice(0, size)',
    fault: "const candidates = order !== null ? groups.slice(0, size)",
  },
  {
    name: "admission runs one window further ahead",
    file: "src/flow/admission/Admission.ts",
    text: "const requiredConsumed = Math.max(0, window - lead(rules));",
    fault: "const requiredConsumed = Math.max(0, window - lead(rules) - 1);",
  },
  {
    name: "a resumed run forgets the groups that were in flight",
    file: "src/domain/RunState.ts",
    text: "SeedSchedule.giveBack(state.seeds, HashMap.keys(state.outstanding))",
    fault: "state.seeds",
  },
  {
    name: "refills take the next number of the run",
    file: "src/flow/admission/Admitter.ts",
    text: "refill === undefined || refillNumbers === null",
    fault: "refill === undefined || refillNumbers !== undefined",
  },
  {
    name: "a fixed lag plays each window with the newest version",
    file: "src/domain/FixedLag.ts",
    text: "versions[versions.length - 1 - (consumed - Math.max(0, window - lag))];",
    fault: "versions[versions.length - 1];",
  },
];
