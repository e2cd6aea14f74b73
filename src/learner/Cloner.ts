/**
 * Behaviour cloning of a trainer's policy, as the learner's thread serves it. Invariant: each step that changes the policy makes one
 * version.
 */
import type { TokenBatch } from "../domain/Batch.ts";
import { type CloningReport, CloningUpdate } from "./CloningUpdate.ts";
import type { Trainer } from "./Trainer.ts";

export class Cloner {
  readonly #trainer: Trainer;
  #cloner: Promise<CloningUpdate> | undefined;

  constructor(trainer: Trainer) {
    this.#trainer = trainer;
  }

  /** The pass is opened on first use, because most runs clone nothing. */
  #open(): Promise<CloningUpdate> {
    const { networks, options } = this.#trainer;
    this.#cloner ??= CloningUpdate.open(networks.config, networks.policy.network, {
      lanes: networks.lanes,
      actor: options.actor,
    });
    return this.#cloner;
  }

  /** Returns the batch's loss in nats per target token, or null for a batch without targets. Changes nothing. */
  async loss(batch: TokenBatch): Promise<number | null> {
    return (await this.#open()).loss(batch);
  }

  async step(batch: TokenBatch, lr: number): Promise<CloningReport> {
    const report = await (await this.#open()).step(batch, lr);
    await this.#trainer.countCloningStep(batch, report.applied);
    return report;
  }
}
