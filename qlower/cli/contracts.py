"""`qlower contracts`: whose arithmetic there is, and what one of them says."""

from __future__ import annotations

import argparse

from qlower.cli.options import Commands, add_command

EXAMPLE = """  qlower contracts
  qlower contracts show tflite
  qlower contracts show ./my_npu.mlir"""


def register(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, common, "contracts", "list the numerics contracts", EXAMPLE
    )
    parser.add_argument("action", nargs="?", choices=["list", "show"], default="list")
    parser.add_argument(
        "name", nargs="?", help="for show: a contract's name, or the path of its file"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """One line a contract, or the text of one with what it takes from others."""
    from qlower.contracts import contract_names, load_contract
    from qlower.diagnostics import QlowerError

    if options.action == "show":
        if options.name is None:
            names = ", ".join(contract_names())
            raise QlowerError(f"show needs the name of a contract: {names}")
        contract = load_contract(options.name)
        print(f"// {contract.name}: {contract.summary}")
        print(f"// rules: {', '.join(contract.rules)}")
        print(contract.source, end="")
        return 0
    names = contract_names()
    width = max(map(len, names))
    for name in names:
        print(f"{name:<{width}}  {load_contract(name).summary}")
    return 0
