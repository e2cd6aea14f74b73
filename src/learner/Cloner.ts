/** Behaviour cloning of a trainer's policy. Invariant: each step that changes the policy makes one version. */
import type { TokenBatch } from "../domain/Batch.ts";
import { type CloningReport, CloningUpdate } from "./CloningUpdate.ts";
import type { Trainer } from "./Trainer.ts";

export class Cloner {
  readonly #trainer: Trainer;
  #cloner: Promise<CloningUpdate> | undefined;

  constructor(trainer: Trainer) {
    this.#trainer = trainer;
  }

  /** Opened by the first call: a run that clones nothing has no model of it. */
  #open(): Promise<CloningUpdate> {
    const { networks, options } = this.#trainer;
    this.#cloner ??= CloningUpdate.open(networks.config, networks.policy.network, {
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
