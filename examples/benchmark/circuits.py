"""Circuits and contracts of whole models: simulated, and decided by a solver.

    python examples/benchmark/circuits.py MODEL --contracts tflm,tvm -o FILE

For each layer, or those that `--layers GLOB` names: its vectors in Icarus Verilog, and
what a solver says of each channel, with seconds and the most memory that a child took.
A file that exists is continued.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from qlower.circuits.functions import OPERAND
from qlower.circuits.make import Circuit, model_circuits
from qlower.circuits.rtl.subject import layer_subject
from qlower.circuits.rtl.verify import RtlEquality, verify_rtl
from qlower.circuits.simulate import Integers, Pins, simulate
from qlower.emit.systemverilog import port_bits
from qlower.explain.vectors import vectors


def main() -> None:
    """Make the table, a line of JSON a layer, and print it."""
    parser = argparse.ArgumentParser(description="Simulate and decide circuits.")
    parser.add_argument("model")
    parser.add_argument("--contracts", required=True)
    parser.add_argument("--layers", default="*")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    known: set[tuple[str, str]] = set()
    if options.output.exists():
        for line in options.output.read_text().splitlines():
            row = json.loads(line)
            known.add((row["contract"], row["layer"]))
    for contract in options.contracts.split(","):
        found = model_circuits(options.model, contract, layer=options.layers)
        for circuit in found.circuits:
            if (contract, circuit.layer) in known:
                continue
            row = _row(options.model, contract, circuit, options.seconds)
            with options.output.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(" | ".join(map(str, row.values())), flush=True)
        for layer, why in found.refused:
            print(f"{contract} | {layer} | {why}", flush=True)


def _row(
    model: str, contract: str, circuit: Circuit, seconds: float
) -> dict[str, object]:
    begin = time.monotonic()
    count, faults = _simulated(model, contract, circuit)
    simulated = time.monotonic() - begin
    found = _decided(model, contract, circuit, seconds)
    verdicts = [one.verdict for one in found.lanes]
    return {
        "contract": contract,
        "layer": circuit.layer,
        "vectors": count,
        "differ": faults,
        "simulation_seconds": round(simulated, 1),
        "channels": len(verdicts),
        "equal": verdicts.count("equal"),
        "differs": verdicts.count("differs"),
        "undecided": verdicts.count("undecided"),
        "solver_seconds": round(sum(one.seconds for one in found.lanes), 1),
        "slowest": round(max(one.seconds for one in found.lanes), 2),
        "megabytes": found.memory // 1024,
    }


def _simulated(model: str, contract: str, circuit: Circuit) -> tuple[int, int]:
    """Vectors, and those whose result isn't the circuit's; none are given twice."""
    source = circuit.source
    assert source is not None
    (layer,) = vectors(model, contract, layer=circuit.layer).layers
    arrays = dict(layer.arrays)
    for name, file in (("lhs", "input0"), ("rhs", "input1"), (OPERAND, "input")):
        if file in arrays:
            arrays[name] = arrays[file]
    output = np.asarray(layer.arrays["output"])
    ports = {p.port_name.data: p for p in circuit.module.module_type.ports.data}
    bits = port_bits(ports.pop("result"))
    columns: list[Integers] = []
    for name in ports:
        if name == source.selector:
            lanes: Integers = np.arange(output.shape[-1], dtype=np.int64)
            columns.append(np.broadcast_to(lanes, output.shape).reshape(-1))
        else:
            columns.append(np.asarray(arrays[name]).astype(np.int64).reshape(-1))
    columns.append(output.astype(np.int64).reshape(-1))
    rows = np.unique(np.stack(columns), axis=1)
    values = dict(zip(ports, rows, strict=False))
    inputs = {name: port_bits(port) for name, port in ports.items()}
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{circuit.name}.sv"
        file.write_text(circuit.text)
        pins = Pins(inputs, {}, "result", bits)
        found = simulate([file], circuit.name, pins, values, seconds=600)
    wanted = rows[-1] % (1 << bits)
    pairs = zip(found, wanted.tolist(), strict=True)
    return len(found), sum(one != other for one, other in pairs)


def _decided(
    model: str, contract: str, circuit: Circuit, seconds: float
) -> RtlEquality:
    subject = layer_subject(model, contract, circuit.layer)
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{circuit.name}.sv"
        file.write_text(circuit.text)
        return verify_rtl(file, circuit.name, subject, ports={}, seconds=seconds)


if __name__ == "__main__":
    main()
