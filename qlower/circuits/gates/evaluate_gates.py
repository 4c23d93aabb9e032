#!/usr/bin/env python3
# pyright: basic
"""Evaluate a list of integer gates: python3 evaluate_gates.py GATES.npz INPUT.npy ...

Prints the outputs, or writes them with `-o FILE.npz`; `--list` prints every gate. Each
wire is checked to need no more than its proved bits. Needs Python and numpy alone.

The archive has arrays of numpy. Wires have numbers in the order in which they are made;
`bits` has those that each one needs, negative with a sign. Gates stand in groups of one
kind: group i makes `sizes[i]` wires from that many entries of `a` and `b`.

    kind 0, constant   values[a]
    kind 1, input      the next elements of the inputs, in row-major order
    kind 2, add        wire a + wire b
    kind 3, multiply   wire a * wire b
    kind 4, shift      floor(wire a / 2^b)
    kind 5, table      values[b + wire a]

`layers[i]` is the place in `names` of the layer that a group is of. `output0` and so on
have the wires of each output. Inputs and outputs are signed: uint8 as the same bits.
"""

import argparse

import numpy as np

FORMAT = "qlower gates 1"
KINDS = ("constant", "input", "add", "multiply", "shift", "table")


def groups(file):
    """The kind, the first wire, `a` and `b` of each group."""
    at, a, b = 0, file["a"], file["b"]
    for kind, size in zip(file["kinds"].tolist(), file["sizes"].tolist(), strict=True):
        yield KINDS[kind], at, a[at : at + size], b[at : at + size]
        at += size


def evaluate(file, inputs):
    """The numbers of all wires."""
    given = [x.view(f"i{x.itemsize}").reshape(-1) for x in inputs]
    elements, used = np.concatenate(given).astype(np.int64), 0
    wires, values = np.zeros(len(file["a"]), np.int64), file["values"]
    for kind, at, a, b in groups(file):
        if kind == "constant":
            found = values[a]
        elif kind == "input":
            found = elements[used : used + len(a)]
            used += len(a)
        elif kind == "add":
            found = wires[a] + wires[b]
        elif kind == "multiply":
            found = wires[a] * wires[b]
        elif kind == "shift":
            found = wires[a] >> b
        else:
            found = values[b + wires[a]]
        wires[at : at + len(a)] = found
    return wires


def check_bits(file, wires):
    """Fail unless each wire's number has no more than its proved bits."""
    bits = file["bits"].astype(np.int64)
    signed = np.where(bits < 0, np.abs(bits) - 1, bits)
    is_inside = np.where(wires < 0, ~wires, wires) >> signed == 0
    assert (is_inside & ((bits < 0) | (wires >= 0))).all(), "a wire is too narrow"


def main():
    parser = argparse.ArgumentParser(description="Evaluate a list of gates.")
    parser.add_argument("gates")
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("-o", "--output")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    file = dict(np.load(options.gates))
    assert str(file["format"]) == FORMAT, "another format"
    if options.list:
        for kind, at, first, second in groups(file):
            for n, (a, b) in enumerate(zip(first, second, strict=True), at):
                print(n, kind, a, b, file["bits"][n])
        return
    wires = evaluate(file, [np.load(one) for one in options.inputs])
    check_bits(file, wires)
    outputs = {key: wires[file[key]] for key in file if key.startswith("output")}
    print(*(f"{key} = {one.tolist()}" for key, one in outputs.items()), sep="\n")
    if options.output:
        np.savez(options.output, **outputs)


if __name__ == "__main__":
    main()
