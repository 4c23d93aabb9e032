// node bench.mjs MODEL.tflite MODEL.wasm LITERTJS [ROUNDS]: CPU time of a model in turns, by
// LiteRT.js (the folder node_modules/@litertjs/core) and by qlower, one thread, one process.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { load } from './model.mjs';

const [tflite, wasm, folder, rounds = '21'] = process.argv.slice(2);
const root = path.resolve(folder);

// what LiteRT.js expects of a browser
globalThis.require = createRequire(pathToFileURL(`${root}/`));
globalThis.self = globalThis;
globalThis.location = { href: 'file:///', toString: () => 'file:///' };
const local = (url) => url.toString().replace(/^file:\/\//, '');
globalThis.importScripts = (url) => {
  globalThis.__dirname = path.dirname(local(url));
  const script = `${readFileSync(local(url), 'utf8')};globalThis.ModuleFactory = ModuleFactory;`;
  vm.runInThisContext(script, { filename: local(url) });
};
globalThis.fetch = async (url) => {
  const isCode = local(url).endsWith('.wasm');
  const type = isCode ? 'application/wasm' : 'application/octet-stream';
  return new Response(readFileSync(local(url)), { headers: { 'content-type': type } });
};

// its JavaScript knows no int8, its WebAssembly does
const utils = pathToFileURL(require.resolve('@litertjs/wasm-utils'));
const source = readFileSync(`${root}/dist/index.js`, 'utf8')
  .replaceAll('"@litertjs/wasm-utils"', JSON.stringify(utils.href))
  .replace('DATATYPES = Object.freeze([', `$& {
    dtype: "int8", typedArrayConstructor: Int8Array, elementType: ElementType.INT8 },`);
const quiet = console.warn;
console.warn = console.error = () => {};
const litert = await import(`data:text/javascript;base64,${Buffer.from(source).toString('base64')}`);
await litert.loadLiteRt(`${root}/wasm/`, {});
const options = { accelerator: 'wasm', cpuOptions: { numThreads: 1 } };
const peer = await litert.loadAndCompile(new Uint8Array(readFileSync(tflite)), options);
console.warn = quiet;

const model = await load(readFileSync(wasm));
let seed = 1;
for (const array of model.inputArrays) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let at = 0; at < bytes.length; at++) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    bytes[at] = seed >>> 16;
  }
}
const inputs = model.inputArrays.map((array) => array.slice());
const tensors = inputs.map(
  (array, index) => new litert.Tensor(array, model.inputs[index].shape));

let outputs;
const sides = {
  'LiteRT.js': async () => {
    const results = await peer.run(tensors);
    outputs = await Promise.all(results.map((result) => result.data()));
    results.forEach((result) => result.delete());
  },
  qlower: async () => {
    outputs = model.run(...inputs);
  },
};

const seconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const measure = async (call, times) => {
  const start = seconds();
  for (let time = 0; time < times; time++) await call();
  return (seconds() - start) / times;
};

const results = [];
const times = {};
let calls = 0;
for (const [name, call] of Object.entries(sides)) {
  await measure(call, 50); // engines optimize functions that were called
  await new Promise((resolve) => setTimeout(resolve, 1000));
  calls = Math.max(calls, Math.ceil(0.05 / (await measure(call, 20))));
  results.push(outputs);
  times[name] = [];
}
for (let round = 0; round < +rounds; round++) {
  for (const [name, call] of Object.entries(sides)) {
    times[name].push(await measure(call, calls));
  }
}
const [theirs, ours] = Object.values(times).map((list) => list.sort((a, b) => a - b));
const differ = results[0].flatMap((array, index) => [...array].filter(
  (value, at) => value !== results[1][index][at])).length;
const total = results[1].reduce((sum, array) => sum + array.length, 0);
for (const [name, list] of Object.entries(times)) {
  const [least, middle] = [list[0], list[list.length >> 1]];
  console.log(`${name.padEnd(10)} ${(middle * 1e6).toFixed(1)} us of CPU time, least ${
    (least * 1e6).toFixed(1)}`);
}
const ratio = (at) => (theirs[at] / ours[at]).toFixed(2);
console.log(`LiteRT.js takes ${ratio(theirs.length >> 1)} times as long (least: ${
  ratio(0)}); ${differ} of ${total} outputs differ`);
process.exit(0);
