"""Short names of layers, from the long ones that converters give.

A fused operation is called after all operations that it was made of:

    model/relu_3/Relu;model/conv2d_3/BiasAdd;model/conv2d_5/Conv2D;model/conv2d_3/Conv2D

Each part is a path; "model" and "model/conv2d_3" are scopes of the second one, and
`conv2d_3` is what that layer is called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, count

Path = tuple[str, ...]

LONGEST_NAME = 40
"""Characters of a short name, before a number that makes it unique."""

LONGEST_READ = 4096
"""Characters of a full name that its short one is made from."""

DEEPEST_PATH = 12
"""Components of a path that are looked at, from its end."""

ADDED = re.compile(
    r"_(?:(?:De)?[Qq]uantizeLinear_(?:Input|Output)|QuantizeInput|(?:de)?quantized)"
    r"(?:_\d+)?$"
)
"""Additions of ONNX Runtime's quantizer to the names of tensors."""

PART_OF_LAYER = re.compile(r"(?:ReadVariableOp|BiasAdd)(?:_\d+)?(?::\d+)?")
"""Operations of TensorFlow that each layer with a bias has: no layer's name."""

FALLBACK = "layer"
"""The name of a layer whose own has no letter or digit."""


def short_names(names: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """A short name for each of the different `names`, in order; none of `taken`.

    A layer is named after the scope that most of its parts are in and fewest other
    layers have, by the last component of its path, by more components where that is
    ambiguous, and by a number where all are. Operations that many layers have
    (`PART_OF_LAYER`) and those that quantizers add (`ADDED`) are no part of that. A
    step on the way to a layer, `LAYER/step`, becomes `SHORT/step`. Short names have
    letters, digits and `_ . : + - # /`. A name without "/" and ";" is short already if
    it has no other characters and at most `LONGEST_NAME`.
    """
    known = set(names)
    owners = {name: _owner(name, known) for name in names}
    scopes = _best_scopes([name for name in names if owners[name] is None])
    used = set(taken)
    short = {
        name: _numbered(_ending(words), used)
        for name, words in _different_endings(scopes).items()
    }
    for name, owner in owners.items():
        if owner is not None:
            step = _ending((_clean(name[len(owner) + 1 :]),))
            short[name] = _numbered(f"{short.get(owner, FALLBACK)}/{step}", used)
    return [short[name] for name in names]


def _owner(name: str, known: set[str]) -> str | None:
    """The layer that `name` is a step of, unless that is a step itself."""
    owner = name.rpartition("/")[0]
    if owner in known and owner.rpartition("/")[0] not in known:
        return owner
    return None


def _parts(name: str) -> list[Path]:
    """The paths that a name joins, each with at least one component."""
    parts: list[Path] = []
    for part in name[:LONGEST_READ].split(";"):
        raw_words = ADDED.sub("", part).split("/")
        words = tuple(word for raw in raw_words if (word := _clean(raw)))
        if words:
            parts.append(words[-DEEPEST_PATH:])
    return parts or [(FALLBACK,)]


def _clean(word: str) -> str:
    """`word` with an underscore for what isn't safe everywhere; empty if nothing is."""
    clean = re.sub(r"[^\w.:+#-]+", "_", word)
    return clean if re.search(r"[^\W_]", clean) else ""


def _scopes(path: Path) -> Iterator[Path]:
    """The path and all scopes that it is in, innermost first."""
    return (path[:length] for length in range(len(path), 0, -1))


def _all_scopes(paths: Sequence[Path]) -> Iterator[Path]:
    return (scope for path in paths for scope in _scopes(path))


def _best_scopes(names: Sequence[str]) -> dict[str, Path]:
    """For every name, the scope that it is called after.

    Converters name equal constants of several layers alike, after one of the layers, so
    that a path which several names have says nothing about them.
    """
    parts = {name: _parts(name) for name in names}
    users = Counter(path for paths in parts.values() for path in set(paths))
    own = {
        name: [path for path in paths if users[path] == 1] or paths
        for name, paths in parts.items()
    }
    users = Counter(
        scope for paths in own.values() for scope in set(_all_scopes(paths))
    )
    best = {name: _best_scope(own[name], parts[name], users) for name in names}
    return {name: _without_parts(path) for name, path in best.items()}


def _without_parts(path: Path) -> Path:
    """The path of a layer, without the operations below that many layers have."""
    while len(path) > 1 and PART_OF_LAYER.fullmatch(path[-1]):
        path = path[:-1]
    return path


def _best_scope(
    own: Sequence[Path], paths: Sequence[Path], users: Counter[Path]
) -> Path:
    """The scope with the most of its own paths for each layer that has it.

    Of equals a scope goes before a path itself, one of more paths before one of fewer,
    one of a later path before one of an earlier (a converter names an activation
    first), and an inner one before an outer one.
    """
    inside = Counter(_all_scopes(own[::-1]))
    inside_any = Counter(_all_scopes(paths))
    return max(
        inside,
        key=lambda scope: (
            inside[scope] / users[scope],
            scope not in own,
            inside_any[scope],
        ),
    )


def _different_endings(scopes: Mapping[str, Path]) -> dict[str, Path]:
    """The last component of every path, or the fewest that no other path ends in."""
    lengths = dict.fromkeys(scopes, 1)
    while True:
        endings = {name: path[-lengths[name] :] for name, path in scopes.items()}
        users = Counter(endings.values())
        longer = [
            name
            for name, path in scopes.items()
            if users[endings[name]] > 1 and lengths[name] < len(path)
        ]
        if not longer:
            return endings
        for name in longer:
            lengths[name] += 1


def _ending(words: Path) -> str:
    """The words as a name; a long one loses its beginning, if possible at a word."""
    name = "/".join(words)
    if len(name) > LONGEST_NAME:
        name = name[-LONGEST_NAME:]
        name = re.sub(r"^[^_./]*[_./]+(?=\w)", "", name)
    return name or FALLBACK


def _numbered(name: str, used: set[str]) -> str:
    """`name`, with the first number that makes it unused if it isn't; uses it."""
    candidates = chain([name], (f"{name}#{number}" for number in count(2)))
    free = next(candidate for candidate in candidates if candidate not in used)
    used.add(free)
    return free
