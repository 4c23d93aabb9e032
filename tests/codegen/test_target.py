from __future__ import annotations

import subprocess
import sys

import pytest

from qlower.codegen import target as targets
from qlower.codegen.target import DotKind, host_target, resolve_target
from qlower.diagnostics import QlowerError


@pytest.fixture(scope="module")
def llvm_names() -> set[str]:
    """The CPUs and features that LLVM prints when it is asked for help."""
    code = (
        "from qlower.codegen.llvmlite_binding import BINDING as b\n"
        "t = b.Target.from_triple('x86_64-unknown-linux-gnu')\n"
        "t.create_target_machine(cpu='help', features='', opt=0, reloc='pic',"
        " codemodel='small')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {line.split()[0] for line in done.stderr.splitlines() if line.strip()}


def test_every_name_is_one_of_llvm(llvm_names: set[str]):
    assert set(targets._CPUS) <= llvm_names
    # LLVM's help leaves out the name of the 64-bit mode that it detects
    assert llvm_names | {"64bit"} >= targets._FEATURES


@pytest.mark.parametrize(
    ("cpu", "features", "bits", "kind"),
    [
        ("x86-64", None, 128, DotKind.PAIRS),
        ("x86-64-v2", None, 128, DotKind.PAIRS),
        ("x86-64-v3", None, 256, DotKind.PAIRS),
        ("x86-64-v3", "+avxvnni", 256, DotKind.BYTES),
        ("alderlake", None, 256, DotKind.BYTES),
        ("x86-64-v4", None, 512, DotKind.PAIRS),
        ("x86-64-v4", "+avx512vnni", 512, DotKind.BYTES),
        ("znver4", None, 512, DotKind.BYTES),
        ("znver4", "-avx512vnni", 512, DotKind.PAIRS),
        ("znver4", "-avx512f", 256, DotKind.PAIRS),
        ("znver4", "-avx", 128, DotKind.PAIRS),
    ],
)
def test_levels(cpu: str, features: str | None, bits: int, kind: DotKind):
    target = resolve_target(cpu=cpu, features=features)
    assert (target.vector_bits, target.dot.kind) == (bits, kind)


def test_host_has_its_own_features():
    target = host_target()
    assert "+sse2" in target.features
    assert resolve_target("host") == target


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        ({"cpu": "haswel"}, "unknown cpu 'haswel'", "haswell"),
        ({"cpu": "skylake", "features": "+avx512vni"}, "unknown feature", "avx512vnni"),
        ({"features": "avx2"}, "has no sign", None),
        ({"features": "-sse2"}, "can't be removed", None),
        ({"target": "sparc-sun-solaris"}, "architecture 'sparc'", "--target host"),
    ],
)
def test_unknown_names(options: dict[str, str], message: str, help: str | None):
    with pytest.raises(QlowerError, match=message) as caught:
        resolve_target(**options)
    assert help is None or help in (caught.value.help or "")
