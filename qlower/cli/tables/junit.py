"""Verdicts as JUnit's XML, which services for continuous integration show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML hasn't."""


@dataclass(frozen=True)
class Case:
    """A test: a layer, a contract or a gate. It passes where `failure` is empty, unless
    it was `skipped` for a reason."""

    name: str
    failure: str = ""
    skipped: str = ""


def junit_text(suite: str, cases: Sequence[Case]) -> str:
    """The document for one suite of tests."""
    failures = str(sum(bool(case.failure) for case in cases))
    numbers = {"tests": str(len(cases)), "failures": failures, "errors": "0"}
    root = ElementTree.Element("testsuites", numbers)
    name = _allowed(suite)
    skipped = {"skipped": str(sum(bool(case.skipped) for case in cases))}
    own = {"name": name, **numbers, **skipped}
    parent = ElementTree.SubElement(root, "testsuite", own)
    for case in cases:
        given = {"classname": name, "name": _allowed(case.name)}
        element = ElementTree.SubElement(parent, "testcase", given)
        if case.failure:
            told = {"message": _allowed(case.failure)}
            ElementTree.SubElement(element, "failure", told)
        elif case.skipped:
            told = {"message": _allowed(case.skipped)}
            ElementTree.SubElement(element, "skipped", told)
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True) + "\n"


def _allowed(text: str) -> str:
    return FORBIDDEN.sub("?", text)
