"""
lit configuration: `lit filecheck` runs every test here.

Tests call tools by substitution only, so that they find this environment's whether or
not it is activated:

    %qlower, %qopt, %filecheck    our tools, and FileCheck: `%qopt %s | %filecheck %s`
    %roundtrip                    the test's text is read and printed twice, and checked
    %generic_roundtrip            the same, through the generic form
    %mlir_opt                     upstream's mlir-opt, LLVM 22 or newer, where found;
                                  tests that need it say `REQUIRES: mlir-opt`
    %mlir_translate               upstream's mlir-translate, if it lies beside mlir-opt

Our tools, and FileCheck, run in the process that runs lit, which imports them once:
`tests/test_filecheck.py` has them in those of pytest.
"""

# pyright: reportUndefinedVariable=false
# ruff: noqa: F821

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import lit.formats
import lit.TestRunner

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import filecheck.main
from support.systems.upstream import find_mlir_opt
from support.tools_in_process import in_process

import qlower.cli
import qlower.cli.opt

config.name = "qlower"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = Path(__file__).parent

scripts = Path(sys.executable).parent
config.environment["PATH"] = f"{scripts}{os.pathsep}{config.environment['PATH']}"
for name in ("QLOWER_MODELS", "QLOWER_CACHE_DIR", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

run_tool = in_process(
    {
        str(scripts / "qlower"): qlower.cli.main,
        str(scripts / "qlower-opt"): qlower.cli.opt.main,
        str(scripts / "filecheck"): filecheck.main.main,
    }
)
# That module's alone, not that of all that start processes here.
lit.TestRunner.subprocess = SimpleNamespace(
    Popen=run_tool, PIPE=subprocess.PIPE, STDOUT=subprocess.STDOUT
)

qlower_opt = f"'{scripts / 'qlower-opt'}'"
filecheck = f"'{scripts / 'filecheck'}'"
config.substitutions += [
    ("%qlower", f"'{scripts / 'qlower'}'"),
    ("%qopt", qlower_opt),
    ("%filecheck", filecheck),
    (
        "%roundtrip",
        f"{qlower_opt} %s --split-input-file"
        f" | {qlower_opt} --split-input-file | {filecheck} %s",
    ),
    (
        "%generic_roundtrip",
        f"{qlower_opt} %s --split-input-file --print-op-generic"
        f" | {qlower_opt} --split-input-file | {filecheck} %s",
    ),
]
if mlir_opt := find_mlir_opt():
    config.available_features.add("mlir-opt")
    config.substitutions.append(("%mlir_opt", f"'{mlir_opt}'"))
    translate = Path(mlir_opt).with_name("mlir-translate")
    if translate.is_file():
        config.available_features.add("mlir-translate")
        config.substitutions.append(("%mlir_translate", f"'{translate}'"))
