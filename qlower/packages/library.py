"""The files that make a model's C source a library of a firmware's build system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from qlower.codegen.program.interface import Interface
from qlower.packages.known_names import check_known
from qlower.tables.json_text import json_text


@dataclass(frozen=True)
class LibraryKind:
    """A build system: the folder of C sources in a library, and the other files of one,
    by their paths."""

    sources: str
    files: Callable[[Interface], Mapping[str, str]]


def _zephyr(interface: Interface) -> Mapping[str, str]:
    """An external module: Zephyr's "Modules (External projects)"."""
    name = interface.name
    return {
        "zephyr/module.yml": f"name: {name}\nbuild:\n  cmake: .\n",
        "CMakeLists.txt": f"""\
zephyr_library_named({name})
zephyr_library_sources({name}.c)
zephyr_library_compile_options(-O3)
if(CONFIG_CPU_CORTEX_M4 OR CONFIG_CPU_CORTEX_M7)
  zephyr_library_compile_definitions(QLOWER_ACLE)
endif()
zephyr_include_directories(.)
""",
    }


def _idf(interface: Interface) -> Mapping[str, str]:
    """A component of ESP-IDF."""
    name = interface.name
    return {
        "CMakeLists.txt": f"""\
idf_component_register(SRCS "{name}.c" INCLUDE_DIRS ".")
target_compile_options(${{COMPONENT_LIB}} PRIVATE -O3)
""",
        "idf_component.yml": f'version: "1.0.0"\ndescription: {_sentence(interface)}\n',
    }


def _arduino(interface: Interface) -> Mapping[str, str]:
    """A library of the Arduino IDE (specification 1.5 and later), and of PlatformIO."""
    name, sentence = interface.name, _sentence(interface)
    properties = {
        "name": name,
        "version": "1.0.0",
        "author": "qlower",
        "maintainer": "qlower",
        "sentence": sentence,
        "paragraph": f"Include {name}.h and call {name}_run.",
        "category": "Data Processing",
        "url": "",
        "architectures": "*",
        "includes": f"{name}.h",
    }
    manifest = {
        "name": name,
        "version": "1.0.0",
        "description": sentence,
        "frameworks": "*",
        "platforms": "*",
        "build": {"flags": "-O3"},
    }
    return {
        "library.properties": "".join(f"{k}={v}\n" for k, v in properties.items()),
        "library.json": json_text(manifest) + "\n",
    }


def _sentence(interface: Interface) -> str:
    return f"The model {interface.name} as C source, contract {interface.contract}"


LIBRARIES: Mapping[str, LibraryKind] = {
    "zephyr": LibraryKind("", _zephyr),
    "arduino": LibraryKind("src", _arduino),
    "idf": LibraryKind("", _idf),
}
"""The kinds by the name for `compile --package`; arduino is PlatformIO's, too."""


def library_kind(name: str) -> LibraryKind:
    """The build system of that name; QlowerError for one that isn't known."""
    check_known("--package", name, LIBRARIES)
    return LIBRARIES[name]


def write_library(folder: Path, kind: LibraryKind, interface: Interface) -> list[str]:
    """Write all files except the sources into an existing folder, and return their
    paths in it."""
    files = kind.files(interface)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return [*files]
