/**
 * A policy's or critic's loss alone as an ONNX model, for a network that runs elsewhere. A remote learner computes the loss's gradients
 * with it, and the server runs the backward pass. Invariant: it has the nodes of the local learner's loss.
 */

import { gradients } from "../../model/tensor/Gradients.ts";
import { Graph } from "../../model/tensor/Graph.ts";
import type { OnnxModel } from "../../model/tensor/Onnx.ts";
import { type PolicyLossOptions, policyLoss, targetLossInputs } from "./policyLoss.ts";
import { valueLoss } from "./valueLoss.ts";

/**
 * Inputs, each [targets]: logp, entropy, old, advantages, weights, importance; reference with a KL loss; int64 sequences for a ratio per
 * sequence. Scalar outputs: loss, loss_surrogate, loss_entropy and, with a KL loss, loss_kl, the parts before their coefficients. Gradient
 * outputs: dlogp and dentropy [targets].
 */
export const lossModel = (options: PolicyLossOptions): OnnxModel => {
  const graph = new Graph("policy loss");
  const logp = graph.input("logp", "float32", ["targets"]);
  const entropy = graph.input("entropy", "float32", ["targets"]);
  const loss = policyLoss({ logp, entropy, ...targetLossInputs(graph, options) }, options);
  graph.output("loss", loss.total);
  graph.output("loss_surrogate", loss.surrogate);
  graph.output("loss_entropy", loss.entropy);
  if (loss.kl !== undefined) graph.output("loss_kl", loss.kl);
  gradients(loss.total, [logp, entropy]).forEach((gradient, i) => {
    graph.output(i === 0 ? "dlogp" : "dentropy", gradient);
  });
  return graph.toModel();
};

/** Inputs, each [targets]: values, old, returns, weights. Outputs: the scalar loss; dvalues [targets], its gradient. */
export const valueLossModel = (clipRange: number): OnnxModel => {
  const graph = new Graph("value loss");
  const input = (name: string) => graph.input(name, "float32", ["targets"]);
  const values = input("values");
  const loss = valueLoss(
    { values, old: input("old"), returns: input("returns"), weights: input("weights") },
    clipRange,
  );
  graph.output("loss", loss);
  for (const gradient of gradients(loss, [values])) graph.output("dvalues", gradient);
  return graph.toModel();
};
