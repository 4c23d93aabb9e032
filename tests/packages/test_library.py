"""C source as a library of a firmware's build system."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main
from qlower.packages.library import LIBRARIES

FILES = {
    "zephyr": {"zephyr/module.yml", "CMakeLists.txt", "kws.c", "kws.h"},
    "idf": {"CMakeLists.txt", "idf_component.yml", "kws.c", "kws.h"},
    "arduino": {"library.properties", "library.json", "src/kws.c", "src/kws.h"},
}

FUNCTIONS = """\
cmake_minimum_required(VERSION 3.16)
project(check C)
function(zephyr_library_named name)
  set(LIBRARY ${name} PARENT_SCOPE)
endfunction()
macro(zephyr_library_sources)
  add_library(${LIBRARY} STATIC ${ARGN})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(${LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_library_compile_definitions)
  target_compile_definitions(${LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
  target_include_directories(${LIBRARY} PUBLIC ${ARGN})
endmacro()
macro(idf_component_register)
  cmake_parse_arguments(PART "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  set(COMPONENT_LIB part)
  add_library(part STATIC ${PART_SRCS})
  target_include_directories(part PUBLIC ${PART_INCLUDE_DIRS})
endmacro()
include(${LIBRARY_FOLDER}/CMakeLists.txt)
"""
"""The functions of both build systems that a library calls, as far as they matter."""


def write(kind: str, tmp_path: Path) -> Path:
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    out = tmp_path / "out"
    options = ["--emit", "c", "--package", kind, "--name", "kws"]
    assert main(["compile", str(path), "-o", str(out), *options]) == 0
    return out


@pytest.mark.parametrize("kind", LIBRARIES)
def test_files(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = write(kind, tmp_path)
    files = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    assert files == FILES[kind]
    listed = capsys.readouterr().out
    assert all(str(out / name) in listed for name in files)
    if kind == "arduino":
        assert json.loads((out / "library.json").read_text())["name"] == "kws"
        properties = (out / "library.properties").read_text()
        assert "includes=kws.h\n" in properties
        assert all("=" in line for line in properties.splitlines())


@pytest.mark.parametrize("kind", ["zephyr", "idf"])
def test_cmake_builds_it(kind: str, tmp_path: Path):
    """With stand-ins for the build system's functions."""
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    library = write(kind, tmp_path)
    project = tmp_path / "project"
    project.mkdir()
    lists = FUNCTIONS.replace("${LIBRARY_FOLDER}", str(library))
    # sources are named as in the library's own folder
    for name in ("kws.c", "kws.h"):
        shutil.copy(library / name, project)
    (project / "CMakeLists.txt").write_text(lists)
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    assert list((project / "build").glob("lib*.a"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--package", "zephir", "--emit", "c"), "did you mean 'zephyr'?"),
        (("--package", "zephyr"), "--package is made of C source"),
    ],
)
def test_refusals(
    options: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    path = tmp_path / "small.mlir"
    path.write_text(SMALL_MODEL)
    assert main(["compile", str(path), "-o", str(tmp_path / "out"), *options]) == 1
    assert message in capsys.readouterr().err
