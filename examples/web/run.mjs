// node run.mjs MODEL.wasm OUTPUT INPUT...: raw little-endian files of stored numbers in, the
// outputs of each call one after another out. Without files it prints what the model takes.
import { readFileSync, writeFileSync } from 'node:fs';
import { load } from './model.mjs';

const [path, output, ...files] = process.argv.slice(2);
const model = await load(readFileSync(path));
if (!files.length) {
  console.log(JSON.stringify(model.facts, null, 2));
} else {
  const given = files.map((file) => readFileSync(file));
  const sizes = model.inputArrays.map((array) => array.byteLength);
  const calls = given[0].length / sizes[0];
  const made = [];
  for (let call = 0; call < calls; call++) {
    model.inputArrays.forEach((array, index) => {
      const first = call * sizes[index];
      const bytes = given[index].subarray(first, first + sizes[index]);
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes);
    });
    model.runInPlace();
    for (const array of model.outputArrays) {
      made.push(Buffer.from(array.slice().buffer));
    }
  }
  writeFileSync(output, Buffer.concat(made));
}
