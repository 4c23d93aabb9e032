"""`qlower compile`: a model to native code on disk."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.cli.given import each_shape, make_levels
from qlower.cli.output import show
from qlower.cli.usage.circuits import CIRCUIT_KINDS, refuse_circuit_options
from qlower.codegen.program.interface import check_name
from qlower.codegen.targets.c99 import PORTABLE_C
from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.files.replacing import replacing_files
from qlower.packages.compiled import check_emitted, check_shared, compile_shapes
from qlower.packages.link import compiler_driver
from qlower.tables.json_text import json_text

_MACHINE_CODE = {"obj", "shared", "wasm", "asm", "llvm"}


def _is_default_target(options: argparse.Namespace) -> bool:
    return (options.target, options.cpu, options.features) == ("host", None, None)


def run(options: argparse.Namespace) -> int:
    """Compile, write everything or nothing; list the files and the memory it takes."""
    emit = [kind.strip() for kind in options.emit.split(",") if kind.strip()]
    if not CIRCUIT_KINDS.isdisjoint(emit):
        from qlower.cli.circuits import write_circuits

        if (options.max_flash, options.max_ram) != (None, None):
            raise QlowerError("--max-flash and --max-ram: circuits take no memory")
        if options.package is not None or options.weights_section:
            raise QlowerError("--package and --weights-section: circuits are no code")
        return write_circuits(options, emit)
    refuse_circuit_options(options)
    check_emitted(emit, options.package)
    if "c" in emit and not _MACHINE_CODE & {*emit} and _is_default_target(options):
        options.target = PORTABLE_C
    if options.name is not None:
        check_name(options.name)
    if "shared" in emit:  # refused before the work, not after it
        compiler_driver(resolve_target(options.target).triple)
    folder = Path(options.output)
    given = each_shape(options.shape)
    if len(given) > 1 and options.model == "-":
        raise QlowerError("several shapes are for a model's file, not for text")
    if len(given) > 1:
        check_shared(emit)
    with replacing_files(folder) as temporary:
        shapes = [
            make_levels(argparse.Namespace(**{**vars(options), "shape": shape}))
            for shape in given
        ]
        compiled = compile_shapes(shapes, options.name, options.weights_section)
        names = compiled.write(temporary, emit, options.package)
        is_bare = compiled.target.is_bare_metal and not compiled.target.is_source
        limits = {"max_flash": options.max_flash, "max_ram": options.max_ram}
        asks = options.stack or is_bare or options.max_ram is not None
        memory = compiled.memory(with_stack=asks and not compiled.target.is_source)
        memory.check(**limits)
    files = [str(folder / name) for name in names]
    if options.json:
        show(json_text({"files": files, "memory": memory.to_json()}))
    else:
        show("\n".join([*files, "", str(memory.table())]))
    return 0
