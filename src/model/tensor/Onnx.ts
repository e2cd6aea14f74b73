/**
 * The part of the ONNX protobuf schema that a tensor graph needs, and its encoder from a model's description to the bytes of a
 * ModelProto. Field numbers are those of onnx.proto3 (IR version 10).
 */
import {
  type BinaryWriter,
  bytes,
  encoded,
  float,
  integerElement,
  message,
  textElement,
} from "../../support/protobuf.ts";
import { isSymbol, type Shape } from "./Shape.ts";

/** The domain of onnxruntime's own operators. */
export const MICROSOFT = "com.microsoft";

/** An element type. */
export type DType = "float32" | "int64" | "int32" | "uint8" | "bool";

export type Attribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly text: string }
  | { readonly ints: readonly number[] };
export type Attributes = Readonly<Record<string, Attribute>>;

export interface OnnxNode {
  readonly type: string;
  readonly domain: string;
  readonly name: string;
  /** "" leaves an optional input out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Attributes;
}

export interface OnnxConstant {
  readonly name: string;
  readonly dtype: DType;
  readonly dims: readonly number[];
  /** Little-endian elements. */
  readonly bytes: Uint8Array;
  /** True if the runtime reads the elements in place, beside the encoded model, where they must stay until the session is open. Default false. */
  readonly isExternal?: boolean;
}

export interface OnnxValue {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface OnnxModel {
  readonly name: string;
  readonly opsets: Readonly<Record<string, number>>;
  readonly nodes: readonly OnnxNode[];
  readonly constants: readonly OnnxConstant[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  /** The inputs and outputs among those of float32 that are float16 to the runtime (HalfForm.ts). */
  readonly half?: ReadonlySet<string>;
  /** Results of the nodes, outputs included. The runtime infers them itself; predictions before a run need them. */
  readonly values: readonly OnnxValue[];
  /** Symbols of shapes that no input carries, each with the value, int64 [1], that a node makes of it. */
  readonly boundSymbols: readonly { readonly symbol: string; readonly value: string }[];
}

/** Turns inputs into constants, which the runtime prepares once, when it loads the model. Throws a RangeError if one is no input. */
export const withConstants = (model: OnnxModel, constants: readonly OnnxConstant[]): OnnxModel => {
  const names = new Set(model.inputs.map(({ name }) => name));
  const unknown = constants.find(({ name }) => !names.has(name));
  if (unknown !== undefined) throw new RangeError(`the model has no input "${unknown.name}"`);
  const constantNames = new Set(constants.map(({ name }) => name));
  return {
    ...model,
    inputs: model.inputs.filter(({ name }) => !constantNames.has(name)),
    constants: [...model.constants, ...constants.map((constant) => ({ ...constant, isExternal: true }))],
  };
};

const IR_VERSION = 10;
/** The location of a tensor's data that are not in the message. */
const EXTERNAL = 1;
const FLOAT16 = 10;
/** Codes of the element types in TensorProto. */
export const ELEMENT_TYPE = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  bool: 9,
} as const satisfies Record<DType, number>;
const ATTRIBUTE_TYPE = { float: 1, int: 2, text: 3, ints: 7 } as const;

const writeAttribute = (writer: BinaryWriter, name: string, attribute: Attribute): void => {
  textElement(writer, 1, name);
  if ("float" in attribute) {
    float(writer, 2, attribute.float);
    integerElement(writer, 20, ATTRIBUTE_TYPE.float);
  } else if ("int" in attribute) {
    integerElement(writer, 3, attribute.int);
    integerElement(writer, 20, ATTRIBUTE_TYPE.int);
  } else if ("text" in attribute) {
    textElement(writer, 4, attribute.text);
    integerElement(writer, 20, ATTRIBUTE_TYPE.text);
  } else {
    for (const value of attribute.ints) integerElement(writer, 8, value);
    integerElement(writer, 20, ATTRIBUTE_TYPE.ints);
  }
};

const writeNode = (writer: BinaryWriter, node: OnnxNode): void => {
  for (const input of node.inputs) textElement(writer, 1, input);
  for (const output of node.outputs) textElement(writer, 2, output);
  textElement(writer, 3, node.name);
  textElement(writer, 4, node.type);
  for (const [name, attribute] of Object.entries(node.attributes))
    message(writer, 5, () => writeAttribute(writer, name, attribute));
  textElement(writer, 7, node.domain);
};

const writeConstant = (writer: BinaryWriter, constant: OnnxConstant): void => {
  for (const dim of constant.dims) integerElement(writer, 1, dim);
  integerElement(writer, 2, ELEMENT_TYPE[constant.dtype]);
  textElement(writer, 8, constant.name);
  if (constant.isExternal) {
    message(writer, 13, () => {
      textElement(writer, 1, "location");
      textElement(writer, 2, constant.name);
    });
    integerElement(writer, 14, EXTERNAL);
  } else bytes(writer, 9, constant.bytes);
};

const writeValue = (writer: BinaryWriter, value: OnnxValue, isHalf: boolean): void => {
  textElement(writer, 1, value.name);
  message(writer, 2, () =>
    message(writer, 1, () => {
      integerElement(writer, 1, isHalf ? FLOAT16 : ELEMENT_TYPE[value.dtype]);
      message(writer, 2, () => {
        for (const dim of value.shape)
          message(writer, 1, () => {
            if (typeof dim === "number") integerElement(writer, 1, dim);
            else if (isSymbol(dim)) textElement(writer, 2, dim);
            // a computed size stays unknown to the runtime
          });
      });
    }),
  );
};

/** The bytes of a ModelProto. The elements of external constants are not in it: the runtime gets them by the constants' names. */
export const encode = (model: OnnxModel): Uint8Array =>
  encoded((writer) => {
    integerElement(writer, 1, IR_VERSION);
    textElement(writer, 2, "millrace");
    message(writer, 7, () => {
      for (const node of model.nodes) message(writer, 1, () => writeNode(writer, node));
      textElement(writer, 2, model.name);
      for (const constant of model.constants) message(writer, 5, () => writeConstant(writer, constant));
      const write = (field: number, value: OnnxValue) =>
        message(writer, field, () => writeValue(writer, value, model.half?.has(value.name) ?? false));
      for (const input of model.inputs) write(11, input);
      for (const output of model.outputs) write(12, output);
    });
    for (const [domain, version] of Object.entries(model.opsets))
      message(writer, 8, () => {
        textElement(writer, 1, domain);
        integerElement(writer, 2, version);
      });
  });
