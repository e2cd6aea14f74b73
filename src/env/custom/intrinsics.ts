/**
 * The globals that all code of a thread uses, as they are: what was changed of them can be named, and put back. New members are nobody's
 * harm, but for enumerable ones of `Object.prototype`, which show up in every loop over an object's keys.
 */
const { defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { is } = Object;

/** Those that code of ours and of Node relies on, by the names that people know. */
const named: Readonly<Record<string, object>> = (() => {
  const constructors = {
    ...{ Object, Function, Array, String, Number, Boolean, Symbol, BigInt, Promise, RegExp, Date },
    ...{ Map, Set, WeakMap, WeakSet, WeakRef, ArrayBuffer, SharedArrayBuffer, DataView },
    ...{ Uint8Array, Int32Array, Float32Array, Float64Array, Error },
  };
  const found: Record<string, object> = { JSON, Math, Reflect, Atomics, globalThis };
  for (const [name, made] of Object.entries(constructors)) {
    // Errors have switches that libraries set.
    if (name !== "Error") found[name] = made;
    found[`${name}.prototype`] = made.prototype;
  }
  found["TypedArray.prototype"] = Object.getPrototypeOf(Uint8Array.prototype);
  found["ArrayIterator.prototype"] = Object.getPrototypeOf([].values());
  found["MapIterator.prototype"] = Object.getPrototypeOf(new Map().values());
  found["Generator.prototype"] = Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()));
  return found;
})();

/** Of the global object only these: others are made when they are first read. */
const globals: readonly PropertyKey[] = [
  ...[
    "Object",
    "Function",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Symbol",
    "Promise",
    "RegExp",
    "Date",
    "Map",
    "Set",
  ],
  ...["WeakMap", "WeakSet", "WeakRef", "Error", "JSON", "Math", "Reflect", "Atomics", "Proxy", "ArrayBuffer"],
  ...[
    "SharedArrayBuffer",
    "Uint8Array",
    "Int32Array",
    "Float32Array",
    "Float64Array",
    "parseInt",
    "parseFloat",
    "isNaN",
  ],
];

interface Entry {
  readonly owner: object;
  readonly name: string;
  readonly key: PropertyKey;
  readonly was: PropertyDescriptor;
}

const same = (a: PropertyDescriptor, b: PropertyDescriptor | undefined): boolean =>
  b !== undefined && is(a.value, b.value) && a.get === b.get && a.set === b.set && a.enumerable === b.enumerable;

export interface Intrinsics {
  /** Names of what differs from before. */
  readonly changed: () => readonly string[];
  /** Puts all back as it was; whether anything had been changed. */
  readonly restore: () => boolean;
}

/** The intrinsics as they are now. */
export const intrinsics = (): Intrinsics => {
  const entries: Entry[] = [];
  for (const [name, owner] of Object.entries(named)) {
    for (const key of owner === globalThis ? globals : ownKeys(owner)) {
      const was = getOwnPropertyDescriptor(owner, key);
      if (was !== undefined) entries.push({ owner, name: `${name}.${String(key)}`, key, was });
    }
  }
  const ofObjects = new Set(ownKeys(Object.prototype));
  const { has } = Set.prototype;
  const { call } = Function.prototype;
  const isKnown: (key: PropertyKey) => boolean = call.bind(has, ofObjects);

  /** A member of every object that a loop over its keys would show. */
  const isStray = (key: PropertyKey): boolean =>
    !isKnown(key) && getOwnPropertyDescriptor(Object.prototype, key)?.enumerable === true;

  // Written without methods of what may have been changed.
  const changed = (): readonly string[] => {
    const names: string[] = [];
    let count = 0;
    for (let at = 0; at < entries.length; at++) {
      const { key, name, owner, was } = entries[at]!;
      if (!same(was, getOwnPropertyDescriptor(owner, key))) names[count++] = name;
    }
    const keys = ownKeys(Object.prototype);
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at]!;
      if (isStray(key)) names[count++] = `Object.prototype.${typeof key === "symbol" ? "a symbol" : key}`;
    }
    return names;
  };

  const restore = (): boolean => {
    if (changed().length === 0) return false;
    const keys = ownKeys(Object.prototype);
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at]!;
      if (isStray(key)) deleteProperty(Object.prototype, key);
    }
    for (let at = 0; at < entries.length; at++) {
      const { key, owner, was } = entries[at]!;
      if (!same(was, getOwnPropertyDescriptor(owner, key))) defineProperty(owner, key, was);
    }
    return true;
  };
  return { changed, restore };
};
