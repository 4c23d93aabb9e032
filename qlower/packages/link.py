"""Objects to shared libraries, by a toolchain that is already on the machine."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from pathlib import Path

from qlower.codegen.targets.arm_a import ARM_A
from qlower.codegen.targets.triples import is_bare_metal
from qlower.diagnostics import QlowerError
from qlower.files.programs import run_program

MESSAGE_CHARACTERS = 2000


def link_shared(object_path: Path, library: Path, triple: str) -> None:
    """Make the shared library of one object. Raises QlowerError without a linker."""
    driver = compiler_driver(triple)
    done = run_program([*driver, "-shared", "-o", library, object_path])
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()[:MESSAGE_CHARACTERS]
        raise QlowerError(f"{driver[0]} cannot link {library.name}: {reason}")


def compiler_driver(triple: str) -> list[str]:
    """The command of a C compiler driver that links for `triple`.

    `cc` for this machine's architecture, a cross compiler named by the triple such as
    `aarch64-linux-gnu-gcc`, or the `ziglang` package.
    """
    if is_bare_metal(triple):
        raise QlowerError(
            f"{triple} is bare metal: it has no shared libraries",
            help="--emit obj,header, and link the object into the firmware",
        )
    architecture, system = triple.split("-")[0], "linux-gnu"
    if architecture in ARM_A.names:
        architecture, system = "arm", "linux-gnueabihf"
    is_native = architecture == platform.machine() and sys.platform == "linux"
    candidates = ["cc", "gcc", "clang"] if is_native else []
    candidates += [f"{architecture}-{system}-gcc"]
    for candidate in candidates:
        if shutil.which(candidate):
            return [candidate]
    if importlib.util.find_spec("ziglang") is not None:
        return [
            sys.executable,
            "-m",
            "ziglang",
            "cc",
            "-target",
            f"{architecture}-{system}",
        ]
    raise QlowerError(
        f"nothing here links for {triple}: looked for {', '.join(candidates)} and the "
        "Python package ziglang",
        help="install one of them (pip install ziglang), or link the object by hand",
    )
