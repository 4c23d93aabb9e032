"""`qlower compile --emit systemverilog`: circuits of layers or of rules."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.circuits.bench import bench_text, has_vectors
from qlower.circuits.gates.make import model_gates
from qlower.circuits.make import (
    RULES_OF_CIRCUITS,
    Circuits,
    contract_circuits,
    model_circuits,
)
from qlower.circuits.ports import integer_contracts
from qlower.cli.exit_codes import UsageError
from qlower.cli.given import given_model
from qlower.cli.output import show, terminal_width
from qlower.cli.usage.circuits import (
    CIRCUIT_KINDS,
    CIRCUIT_OPTIONS,
    refuse_circuit_options,
)
from qlower.contracts import is_contract
from qlower.diagnostics import QlowerError
from qlower.files.replacing import replacing_files
from qlower.tables.json_text import json_text


def write_circuits(options: argparse.Namespace, emit: list[str]) -> int:
    """Write the circuits and their test benches, or nothing; list what they need."""
    if not CIRCUIT_KINDS.issuperset(emit):
        others = ", ".join(kind for kind in emit if kind not in CIRCUIT_KINDS)
        raise UsageError(f"--emit {others} can't be written along with circuits")
    if "gates" in emit:
        return _write_gates(options, emit)
    bits = options.accumulator_bits
    if bits is not None and not 2 <= bits <= 32:
        raise UsageError(f"--accumulator-bits must be in [2, 32], not {bits}")
    if not 0 <= options.stages <= 64:
        raise UsageError(f"--stages must be in [0, 64], not {options.stages}")
    found = _made(options)
    if not found.circuits:
        whys = [f"{name}: {why}" for name, why in found.refused]
        raise QlowerError(
            f"nothing of {options.model} is a circuit of integers",
            notes=whys,
            help="contracts whose convolutions compute in integers: "
            f"{', '.join(integer_contracts('conv2d'))}",
        )
    files: list[str] = []
    folder = Path(options.output)
    with replacing_files(folder) as temporary:
        for circuit in found.circuits:
            texts: dict[str, str] = {}
            if "systemverilog" in emit:
                texts[f"{circuit.name}.sv"] = circuit.text
                if has_vectors(circuit):
                    texts[f"{circuit.name}_tb.sv"] = bench_text(circuit)
            if "comb" in emit:
                texts[f"{circuit.name}.mlir"] = f"{circuit.module}\n"
            for name, text in texts.items():
                (temporary / name).write_text(text)
                files.append(str(folder / name))
    if options.json:
        show(json_text({"files": files, **found.to_dict()}))
    else:
        show("\n".join([*files, "", found.render(terminal_width())]))
    return 0


def _write_gates(options: argparse.Namespace, emit: list[str]) -> int:
    """Write a whole model as gates, and what evaluates them."""
    if emit != ["gates"]:
        raise UsageError("--emit gates is of a whole model, and written alone")
    refuse_circuit_options(options)
    found = model_gates(given_model(options), options.contract)
    folder, name = Path(options.output), options.name or Path(options.model).stem
    with replacing_files(folder) as temporary:
        names = found.write(temporary, name)
    files = [str(folder / one) for one in names]
    if options.json:
        show(json_text({"files": files, **found.to_dict()}))
    else:
        show("\n".join([*files, "", found.render(terminal_width())]))
    return 0


def _made(options: argparse.Namespace) -> Circuits:
    if is_contract_name(options.model):
        if options.layer or options.constants or options.contract:
            raise UsageError(
                f"{options.model} is a contract: it has no layers, and its constants "
                "are inputs"
            )
        rules = options.rules.split(",") if options.rules else RULES_OF_CIRCUITS
        return contract_circuits(
            options.model,
            rules=rules,
            unsigned=options.unsigned,
            accumulator_bits=options.accumulator_bits or 32,
            stages=options.stages,
        )
    for name in ("rules", "accumulator_bits", "unsigned"):
        if getattr(options, name) != CIRCUIT_OPTIONS[name]:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is for a contract in the place of MODEL")
    return model_circuits(
        given_model(options),
        options.contract,
        layer=options.layer or "*",
        constants=options.constants or "inside",
        stages=options.stages,
    )


def is_contract_name(name: str) -> bool:
    """Whether a command's MODEL is a contract: by name, or a file of one."""
    if not name.endswith(".mlir"):
        return is_contract(name) and not Path(name).is_file()
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return "contract.summary" in text or "contract.base" in text
