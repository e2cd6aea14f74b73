/** Every operator of the executor by its ONNX name; those outside the default domain carry theirs in front. */
import type { OnnxNode } from "../../../tensor/Onnx.ts";
import type { Operator } from "../Call.ts";
import { elementwise } from "./elementwise.ts";
import { indexing } from "./indexing.ts";
import { layout } from "./layout.ts";
import { transformer } from "./transformer.ts";

const operators: Readonly<Record<string, Operator>> = { ...elementwise, ...layout, ...indexing, ...transformer };

/** The name under which the table has a node's operator. */
export const operatorName = ({ domain, type }: OnnxNode): string => (domain === "" ? type : `${domain}.${type}`);

/** Its operator, or undefined where there is none. `Shape` has none: the executor answers it from the host. */
export const operatorOf = (node: OnnxNode): Operator | undefined => operators[operatorName(node)];
