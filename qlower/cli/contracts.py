"""`qlower contracts`: whose arithmetic there is, and what each of them says."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import qlower.contracts
from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.output import print_table
from qlower.cli.usage.contracts import NEW_CHOICES
from qlower.contract_pages.contract_table import Contracts
from qlower.contract_pages.pages import explain, stale_pages
from qlower.contracts import contract_names, load_contract, plain_module
from qlower.contracts.family.names import arithmetic, text_of
from qlower.contracts.headers import contract_headers
from qlower.diagnostics import QlowerError
from qlower.files.replacing import replacing


def new_contract(options: argparse.Namespace) -> int:
    """Write the file, and say what runs it."""
    given = {name: getattr(options, name) for name in NEW_CHOICES}
    chosen = {name: value for name, value in given.items() if value is not None}
    name = arithmetic(options.base, **chosen)
    contract = load_contract(name)
    path = Path(options.name.removesuffix(".mlir") + ".mlir")
    if os.path.exists(path):
        raise QlowerError(f"{path} is there already")
    with replacing(path) as file:
        file.write(text_of(name).encode())
    where = path if path.is_absolute() else f"./{path}"
    print(f"{path}: {contract.summary}; base {options.base}")
    print(f"qlower run MODEL --random --contract {where}")
    return 0


def run(options: argparse.Namespace) -> int:
    """One line a contract."""
    print_table(Contracts(contract_headers()).table, options)
    return 0


def show_contract(options: argparse.Namespace) -> int:
    """The explanation of a contract, or its text with what it takes from others."""
    if options.name is None:
        names = ", ".join(contract_names())
        raise UsageError(f"show needs the name of a contract: {names}")
    contract = load_contract(options.name)
    if options.mlir:
        print(f"// {contract.name}: {contract.summary}")
        print(f"// rules: {', '.join(contract.rules)}")
        print(contract.source, end="")
    elif options.plain:
        from qlower.model.printing import readable_module

        print(readable_module(plain_module(contract), constants=True), end="")
    else:
        print(explain(contract), end="")
    return 0


def write_pages(options: argparse.Namespace) -> int:
    """Bring the pages up to date, or say which aren't."""
    folder = Path(qlower.contracts.__file__).parent
    stale = stale_pages(folder)
    for path, text in stale.items():
        file = folder / path
        print(file)
        if options.check:
            continue
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return ExitCode.FOUND if options.check and stale else 0
