"""`qlower contracts`: whose arithmetic there is, and what each of them says."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.cli.options import Commands, add_command
from qlower.diagnostics import QlowerError

EXAMPLE = """  qlower contracts
  qlower contracts show tflite
  qlower contracts show ./my_npu.mlir --mlir"""

PAGES_EXAMPLE = """  qlower contracts pages
  qlower contracts pages --check"""

STALE = 1


def register(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command and its actions to the parser."""
    parser = add_command(
        commands, common, "contracts", "list and explain numerics contracts", EXAMPLE
    )
    parser.set_defaults(run=list_contracts)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    add_command(
        actions, common, "list", "list the contracts (default)", "  qlower contracts"
    )
    show = add_command(actions, common, "show", "explain a contract", EXAMPLE)
    show.add_argument(
        "name", nargs="?", help="a contract's name, or the path of its file"
    )
    show.add_argument(
        "--mlir", action="store_true", help="print its text, and that of its bases"
    )
    show.set_defaults(run=show_contract)
    pages = add_command(
        actions, common, "pages", "write the pages beside the contracts", PAGES_EXAMPLE
    )
    pages.add_argument(
        "--check", action="store_true", help="write nothing, fail if a page is stale"
    )
    pages.set_defaults(run=write_pages)


def list_contracts(options: argparse.Namespace) -> int:
    """One line a contract."""
    from qlower.contracts import contract_names, load_contract

    names = contract_names()
    width = max(map(len, names))
    for name in names:
        print(f"{name:<{width}}  {load_contract(name).summary}")
    return 0


def show_contract(options: argparse.Namespace) -> int:
    """The explanation of a contract, or its text with what it takes from others."""
    from qlower.contracts import contract_names, load_contract
    from qlower.contracts.description import explain

    if options.name is None:
        names = ", ".join(contract_names())
        raise QlowerError(f"show needs the name of a contract: {names}")
    contract = load_contract(options.name)
    if options.mlir:
        print(f"// {contract.name}: {contract.summary}")
        print(f"// rules: {', '.join(contract.rules)}")
        print(contract.source, end="")
    else:
        print(explain(contract), end="")
    return 0


def write_pages(options: argparse.Namespace) -> int:
    """Bring the pages up to date, or say which aren't."""
    import qlower.contracts
    from qlower.contracts.description import stale_pages

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
    return STALE if options.check and stale else 0
