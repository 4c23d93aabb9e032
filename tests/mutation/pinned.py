"""A changed contract on the layers of `test_rule_answers`: the rules alone that the
changed function is a part of, which takes a fraction of the test's time."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mutation.attempt import first_failing
from mutation.sites import Mutant


def prepare(tree: Path) -> None:
    """Import the product from the tree, of which contracts alone will change."""
    sys.path[:0] = [str(tree), str(tree / "tests")]
    os.environ["QLOWER_CACHE_DIR"] = str(tree / "cache")
    importlib.import_module("contracts.test_rule_answers")
    _forget()


def _forget() -> None:
    loaded: Any = importlib.import_module("qlower.contracts")
    loaded._load_shipped_contract.cache_clear()


def first_failing_anew(tests: Sequence[str]) -> str:
    """The first of the tests that fails, after contracts have changed."""
    _forget()
    return first_failing(tests)


def first_differing(mutant: Mutant, failed: str = "") -> str:
    """The first rule whose answers differ from the recorded ones with the mutant in
    place; that of an answer that `failed` before alone, if it was one. For a process of
    its own."""
    _forget()
    is_answer = ":" in failed or failed == Path(mutant.file).stem
    try:
        return next(_differing(mutant, failed if is_answer else ""), "passed")
    except Exception as error:
        return f"failed {type(error).__name__}"


def _differing(mutant: Mutant, only: str) -> Iterator[str]:
    answers: Any = importlib.import_module("contracts.test_rule_answers")
    outline: Any = importlib.import_module("qlower.contracts.outline")
    loaded: Any = importlib.import_module("qlower.contracts")
    stem = Path(mutant.file).stem
    definition = loaded.load_contract(stem).definition
    pieces = definition.outlines[0].pieces
    (function,) = (p.name for p in pieces if p.start <= mutant.start < p.end)
    alone = answers.answer_at_numbers(stem, definition.function(function))
    if only in ("", stem) and not {*alone} <= {*answers.recorded_functions(stem)}:
        yield f"failed {stem}"
    if stem in answers.LIBRARIES and only in ("", stem):
        expected = (answers.ANSWERS / f"{stem}.txt").read_text().splitlines()
        if answers.answers_of_library(stem) != expected:
            yield f"failed {stem}"
    for root, names in answers.FAMILIES.items():
        heirs = [
            definition.outlines
            for definition in (loaded.load_contract(name).definition for name in names)
            if stem in _names(definition)
        ]
        for rule in answers.RULES:
            name, limits = f"{root}: {rule}", f"{root}: limits of {rule}"
            if only not in ("", name, limits):
                continue
            if any(function in outline.functions_of(rule, heir) for heir in heirs):
                if only != limits and answers.differences(root, [rule]):
                    yield f"failed {name}"
                if only != name and answers.changed_limits(root, [rule]):
                    yield f"failed {limits}"


def _names(definition: Any) -> Iterator[str]:
    """Of a contract and its bases."""
    while definition is not None:
        yield definition.name
        definition = definition.base
