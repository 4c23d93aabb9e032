// A model that qlower compiled to WebAssembly, for browsers and node.

const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array,
};
const ALIGNMENT = 64;

/** The model in the bytes of a .wasm file, or in a promise of them. */
export async function load(bytes) {
  const module = await WebAssembly.compile(await bytes);
  const [section] = WebAssembly.Module.customSections(module, 'qlower.interface');
  if (!section) throw new Error('not a module of qlower compile --emit wasm');
  const facts = JSON.parse(new TextDecoder().decode(section));
  const instance = await WebAssembly.instantiate(module);
  return new Model(facts, instance.exports);
}

/**
 * `inputs` and `outputs` describe the tensors: name, dtype, shape, scales, zero_points.
 * `inputArrays` and `outputArrays` are views of the module's memory, for callers that copy
 * nothing: write inputs, call `runInPlace()`, read outputs.
 */
export class Model {
  constructor(facts, exports) {
    this.facts = facts;
    this.inputs = facts.signature.inputs;
    this.outputs = facts.signature.outputs;
    const { memory, heap_base: heapBase, identity, state_bytes: stateBytes } = exports;
    let end = heapBase.value;
    const reserve = (bytes) => {
      const start = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
      end = start + bytes;
      return start;
    };
    const reserveTensor = ({ dtype, shape }) => {
      const count = shape.reduce((a, b) => a * b, 1);
      return [ARRAYS[dtype], reserve(count * ARRAYS[dtype].BYTES_PER_ELEMENT), count];
    };
    const given = this.inputs.map(reserveTensor);
    const made = this.outputs.map(reserveTensor);
    const state = stateBytes.value ? [reserve(stateBytes.value)] : [];
    const arena = reserve(facts.arena_bytes);
    const pages = Math.ceil((end - memory.buffer.byteLength) / 65536);
    if (pages > 0) memory.grow(pages);
    const view = ([Kind, start, count]) => new Kind(memory.buffer, start, count);
    this.inputArrays = given.map(view);
    this.outputArrays = made.map(view);
    const places = [...given, ...made].map(([, start]) => start);
    const run = exports[`${facts.name}_run_checked`];
    const arenaBytes = BigInt(facts.arena_bytes);
    const call = [identity.value, ...places, ...state, arena, arenaBytes];
    this.runInPlace = () => {
      const status = run(...call);
      if (status) throw new Error(`${facts.name}: status ${status}`);
    };
    this.reset = () => {
      if (state.length) exports[`${facts.name}_reset_checked`](identity.value, ...state);
    };
    this.reset();
  }

  /** Copies of the outputs for stored integers (or floats), one array an input. */
  run(...inputs) {
    inputs.forEach((values, index) => this.inputArrays[index].set(values));
    this.runInPlace();
    return this.outputArrays.map((values) => values.slice());
  }
}
