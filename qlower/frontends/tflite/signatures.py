"""The subgraph of a file that is read: the first, or that of a signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from qlower.diagnostics import QlowerError, warn

from ..site import Site
from .schema import Model, Subgraph


def of_signature(model: Model, name: str | None) -> Model:
    """The model of a signature, in which the file's first subgraph is only another
    subgraph; without a name, the model of the first subgraph.

    Raises `QlowerError` for a signature that the file doesn't have.
    """
    if name is None:
        _tell_of_others(model)
        return model
    found = [signature for signature in model.signatures if signature.name == name]
    if not found:
        names = _names(model)
        raise QlowerError(
            f"{model.filename} has no signature {name!r}",
            help=f"its signatures are {names}" if names else "it has no signatures",
        )
    number, arguments = found[0].subgraph, found[0].arguments
    graphs: Mapping[int, Subgraph] = {0: model, **model.others}
    site = Site(model.filename, 0, f"signature {name!r}")
    site.check_range("subgraph", number, 0, len(graphs) - 1)
    chosen = graphs[number]
    return replace(
        model,
        tensors=chosen.tensors,
        operators=chosen.operators,
        inputs=chosen.inputs,
        outputs=chosen.outputs,
        others={key: graph for key, graph in graphs.items() if key != number},
        arguments=arguments,
    )


def _tell_of_others(model: Model) -> None:
    """Warn of signatures whose subgraphs aren't read."""
    named = {signature.subgraph for signature in model.signatures}
    if len(named) < 2:
        return
    warn(
        f"the file has the signatures {_names(model)}: its first subgraph is read,"
        " --signature NAME reads another",
        Site(model.filename, 0, "model").location,
    )


def _names(model: Model) -> str:
    return ", ".join(repr(signature.name) for signature in model.signatures)
