"""`qlower verify`: what holds for all inputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.given import given_model, layer_contracts
from qlower.cli.output import show, terminal_width, write_junit
from qlower.cli.progress import clear_status, progress
from qlower.cli.tables.junit import Case
from qlower.cli.usage.rtl import refuse_rtl_options
from qlower.files.arrays import write_arrays
from qlower.files.replacing import replacing
from qlower.tables.json_text import json_text
from qlower.tables.table import counted
from qlower.verification.fit_table import Fits
from qlower.verification.group_table import Groups, LayerGroups
from qlower.verification.native.verdict import Native
from qlower.verification.smt.claims import Claims
from qlower.verification.verdict import Equality
from qlower.verification.verify import verify


def run(options: argparse.Namespace) -> int:
    """Decide and print the verdict."""
    bits = options.accumulator_bits
    asked = [one is not None for one in (options.equal, bits, options.check)]
    if options.rtl is not None:
        if any([*asked[::2], options.native, options.groups, options.smt]):
            raise UsageError("--rtl FILE is one thing to verify, say no other")
        from qlower.cli.rtl import run_rtl

        return run_rtl(options)
    refuse_rtl_options(options)
    if sum([*asked, options.native, options.groups]) != 1:
        raise UsageError(
            "say one thing that is to be verified: --equal A B, --native, --groups, "
            "--accumulator-bits N, --check FILE or --rtl FILE"
        )
    if bits is not None and not 2 <= bits <= 63:
        raise UsageError(f"--accumulator-bits must be in [2, 63], not {bits}")
    if options.smt is not None and options.equal is None and bits is None:
        raise UsageError("--smt goes with --equal A B or --accumulator-bits N")
    if options.certificate is not None and (
        options.equal is None or options.layer_contract or options.b_layer_contract
    ):
        raise UsageError("--certificate goes with --equal A B for all layers")
    if options.solvers is not None and options.smt is None:
        raise UsageError("--solvers needs --smt DIR, where claims are written")
    if options.time_limit is not None and not options.time_limit > 0:
        raise UsageError(f"--time-limit must be positive, not {options.time_limit:g}")
    _check_options(options)
    if options.layer is not None and (options.output or options.certificate):
        raise UsageError("a verdict's file has all layers: no --layer with -o")
    if options.check is not None:
        return _check(options)
    claims = None
    if options.smt is not None:
        from qlower.verification.smt.claims import Claims

        claims = Claims()
    with ExitStack() as stack:
        output, saved = (
            None if path is None else stack.enter_context(replacing(Path(path)))
            for path in (options.output, options.save)
        )
        found = _decide(options, claims)
        text = json_text(found.to_dict())
        if output is not None:
            output.write(text.encode())
        if saved is not None:
            write_arrays(saved, found.inputs())
    write_junit(options, lambda: cases_of(found))
    show(text if options.json else found.render(terminal_width()))
    agree = claims is None or _solve(options, claims)
    if options.certificate is not None:
        _certify(options)
    return 0 if found.holds and agree else ExitCode.FOUND


def _certify(options: argparse.Namespace) -> None:
    """Write a certificate, and say how to check it."""
    from qlower.verification.certificates.make import write_certificate

    folder, model = Path(options.certificate), Path(options.model)
    a, b = options.equal
    write_certificate(a, b, model, folder, progress=progress)
    clear_status()
    tell = sys.stderr if options.json else sys.stdout
    print(f"\n`python3 {folder / 'check.py'} {model}` checks it.", file=tell)


def _solve(options: argparse.Namespace, claims: Claims) -> bool:
    """Write the claims and run the solvers asked for: whether all agree with qlower."""
    from qlower.verification.smt.verdicts import answers_of

    folder = Path(options.smt)
    claims.write(folder)
    tell = sys.stderr if options.json else sys.stdout
    count = sum(1 for _ in claims)
    print(f"\n{counted(count, 'claim')} in {folder}.", file=tell)
    for layer, why in claims.refused.items():
        print(f"{layer}: no claim, {why}", file=tell)
    if options.solvers is None:
        print(f"`python3 {folder / 'run.py'}` runs SMT solvers on them.", file=tell)
        return True
    asked = "" if options.solvers == "all" else str(options.solvers)
    names = [name for name in asked.split(",") if name]
    limit = 60.0 if options.time_limit is None else options.time_limit
    found = answers_of(claims, folder, names, limit, progress)
    clear_status()
    print("\n" + found.render(terminal_width()), file=tell)
    return not found.faults


_LAYERS, _CODE = ("layer_contract",), ("target", "cpu", "features")


_FILES = ("output", "save", "junit")


_TAKEN: Mapping[str, Collection[str]] = {
    "equal": (*_FILES, *_LAYERS, "b_layer_contract", "layer"),
    "native": (*_FILES, *_LAYERS, *_CODE, "contract", "layer"),
    "groups": ("output", "junit"),
    "accumulator_bits": (*_FILES, *_LAYERS, "contract", "order", "layer"),
    "check": ("sample",),
}
"""The options of each question; any other would be left aside in silence."""


def _check_options(options: argparse.Namespace) -> None:
    """Refuse what the question doesn't take."""
    given = vars(options)
    (asked,) = (name for name in _TAKEN if given[name] not in (None, False))
    known = dict.fromkeys(name for taken in _TAKEN.values() for name in taken)
    for name in known:
        is_given = given[name] not in (None, [], "any", "host")
        if is_given and name not in _TAKEN[asked]:
            question, option = (f"--{n.replace('_', '-')}" for n in (asked, name))
            raise UsageError(f"{question} takes no {option}")


def cases_of(found: Equality | Fits | Groups | Native) -> list[Case]:
    """For JUnit: a layer passes where what was asked holds for all inputs."""
    if isinstance(found, Groups):
        return [case for layer in found.layers for case in _group_cases(layer)]
    record = found.to_dict()
    rows = cast("Sequence[Mapping[str, object]]", record["layers"])
    whole = cast("Mapping[str, Mapping[str, int]]", record.get("whole", {}))
    open_rows = cast("Sequence[Mapping[str, object]]", record.get("undecided", ()))
    moved = cast("Sequence[str]", record.get("moved", ()))
    return [
        *(_verdict_case(row) for row in (*rows, *open_rows)),
        *(Case(name, skipped="computes nothing") for name in moved),
        *(
            Case(f"the whole code {level}", "differs" * bool(one["differing"]))
            for level, one in whole.items()
        ),
    ]


def _group_cases(layer: LayerGroups) -> Iterator[Case]:
    """A contract passes where it is decided against each other one."""
    for contract, reason in layer.refused.items():
        yield Case(f"{layer.layer} {contract}", skipped=reason)
    for group in layer.groups:
        pairs = (pair for pair in layer.undecided if group[0] in pair)
        others = [name for pair in pairs for name in pair if name != group[0]]
        failure = f"undecided against {', '.join(others)}" if others else ""
        for contract in group:
            yield Case(f"{layer.layer} {contract}", failure)


def _verdict_case(row: Mapping[str, object]) -> Case:
    names = [str(row[key]) for key in ("layer", "what", "level") if row.get(key)]
    verdict = str(row["verdict"])
    if verdict == "real":
        return Case(" ".join(names), skipped=str(row["how"]))
    failure = "" if verdict in ("equal", "fits") else f"{verdict} {row.get('how', '')}"
    return Case(" ".join(names), failure.strip())


def _check(options: argparse.Namespace) -> int:
    from qlower.verification.check import check

    if options.sample is not None and options.sample < 1:
        raise UsageError(f"--sample must be at least 1, not {options.sample}")
    found = check(
        Path(options.check),
        given_model(options),
        sample=options.sample,
        progress=progress,
    )
    show(json_text(found.to_dict()) if options.json else str(found))
    return ExitCode.FOUND if found.faults else 0


def _decide(
    options: argparse.Namespace, claims: Claims | None
) -> Equality | Fits | Groups | Native:
    layers = layer_contracts(options.layer_contract)
    if options.groups:
        return verify(given_model(options), groups=True, progress=progress)
    if options.native:
        return verify(
            given_model(options),
            native=True,
            layer=options.layer,
            contract=options.contract,
            target=options.target,
            cpu=options.cpu,
            features=options.features,
            layer_contracts=layers,
            progress=progress,
        )
    if options.equal is None:
        return verify(
            given_model(options),
            accumulator_bits=options.accumulator_bits,
            layer=options.layer,
            contract=options.contract,
            order=options.order,
            layer_contracts=layers,
            claims=claims,
        )
    a, b = options.equal
    return verify(
        given_model(options),
        equal=(a, b),
        layer=options.layer,
        layer_contracts=layers,
        b_layer_contracts=layer_contracts(
            options.b_layer_contract, "--b-layer-contract"
        ),
        claims=claims,
        progress=progress,
    )
