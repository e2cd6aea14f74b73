/** Behaviour cloning of a trainer's policy. Invariant: each step that changes the policy makes one version. */
import type { TokenBatch } from "../domain/Batch.ts";
import { Cloner, type CloningReport } from "./Cloner.ts";
import type { Trainer } from "./Trainer.ts";

export class Cloning {
  readonly #trainer: Trainer;
  #cloner: Promise<Cloner> | undefined;

  constructor(trainer: Trainer) {
    this.#trainer = trainer;
  }

  /** Opened by the first call: a run that clones nothing has no model of it. */
  #open(): Promise<Cloner> {
    const { networks, options } = this.#trainer;
    this.#cloner ??= Cloner.open(networks.config, networks.policy.network, {
      lanes: networks.lanes,
      actor: options.actor,
    });
    return this.#cloner;
  }

  /** The loss of a batch, nats per target token; null where it has none. Changes nothing. */
  async loss(batch: TokenBatch): Promise<number | null> {
    return (await this.#open()).loss(batch);
  }

  /** One optimiser step at the rate `lr`. */
  async step(batch: TokenBatch, lr: number): Promise<CloningReport> {
    const report = await (await this.#open()).step(batch, lr);
    await this.#trainer.countCloningStep(batch, report.applied);
    return report;
  }
}
