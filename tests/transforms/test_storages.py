"""Values that follow each other in memory: what a result may overwrite, and when."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module
from qlower.transforms.storages import (
    Storages,
    Use,
    form_storages,
    last_uses,
    outputs_of,
    place_outputs,
    uses_of,
)

SAME, TURNED = "d0, d1", "d1, d0"


def nest(
    name: str,
    *sources: str,
    reads: tuple[str, ...] = (),
    writes: str = SAME,
    type: str = "i8",
    family: str = "map",
    summed: str = "",
) -> str:
    """A nest over 8 x 8 elements, or sums over one step, of `summed` arguments."""
    indices = (*(reads or (SAME,) * len(sources)), writes)
    loops = "d0, d1, d2" if summed else "d0, d1"
    maps = ", ".join(f"affine_map<({loops}) -> ({own})>" for own in indices)
    given = ", ".join(f"%v{n}: i8" for n in range(len(sources)))
    values = ", ".join(f"%{one}" for one in sources)
    number = f"%n = arith.constant 1 : {type}\n kernel.yield %n : {type}"
    regions = f"epilogue {{ ^bb0({given}): {number} }}"
    if summed:
        regions = f"""init {{ ^bb0({given}): {number} }} body {{
          ^bb0({given}, %s: i8):
            %t = arith.addi %s, {summed} : i8
            kernel.yield %t : i8 }} epilogue {{
          ^bb0({given}, %s: i8): kernel.yield %s : i8 }}"""
    return f"""
      %{name} = kernel.nest {family} parallel [8, 8] {"reduction [2]" if summed else ""}
        maps [{maps}] ins({values} : {", ".join(["tensor<8x8xi8>"] * len(sources))})
        {regions} -> tensor<8x8x{type}>"""


def copied(name: str, source: str, into: str, column: int = 0) -> str:
    return f"""
      %{name} = kernel.copy %{source}[0, 0] [8, 8] [1, 1]
        into {into}[0, {column}] [1, 1] : tensor<8x8xi8> into tensor<8x16xi8>"""


def block_of(*lines: str, returned: str = "") -> Block:
    names = [name.strip() for name in returned.split(",") if name]
    types = ", ".join("tensor<8x8xi8>" for _ in names)
    text = f"""func.func @main(%x: tensor<8x8xi8>) -> ({types}) {{{"".join(lines)}
      return {", ".join(names)} {":" if names else ""} {types}
    }}"""
    (function,) = parse_module(text, "test.mlir").ops
    assert isinstance(function, FuncOp)
    return function.body.block


def named(value: SSAValue) -> str:
    return value.name_hint or "?"


def use_of(block: Block, name: str) -> Use:
    uses = uses_of(block, last_uses(block))
    return next(one for one in uses if named(one.op.results[0]) == name)


A, B = nest("a", "x"), nest("b", "x")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([nest("y", "a", "b")], ["a", "b"]),
        ([nest("y", "b", "a")], ["b", "a"]),
        ([nest("y", "a", "b"), nest("z", "a")], ["b"]),
        ([nest("y", "x", "b"), nest("z", "a")], ["x", "b"]),
        ([nest("y", "a", "b", type="i32")], []),
        # each element is read where the result is written, and nowhere else
        ([nest("y", "a", "b", reads=(TURNED, SAME))], ["b"]),
        ([nest("y", "a", "b", reads=(TURNED, SAME), writes=TURNED)], ["a"]),
        ([nest("y", "a", "a", "b", reads=(SAME, TURNED, SAME))], ["b"]),
        ([nest("y", "a", "a", "b")], ["a", "a", "b"]),
        ([nest("y", "a", "b", reads=("d0, 0", SAME))], ["b"]),
        # points of depthwise convolutions may be computed twice
        ([nest("y", "a", "b", family="depthwise")], []),
        # sums read their inputs before others are written, unless nothing reads these
        ([nest("y", "a", "b", family="loop", summed="%v0")], ["b"]),
        ([nest("y", "a", "b", family="loop", summed="%v1")], ["a"]),
        ([nest("y", "a", "b", family="loop", summed="%s")], ["a", "b"]),
        ([nest("y", "a", "a", family="loop", summed="%v1")], []),
    ],
)
def test_what_a_nest_may_overwrite(lines: list[str], found: list[str]) -> None:
    use = use_of(block_of(A, B, *lines), "y")
    ((_, size, last, overwritable),) = use.results
    assert [named(value) for value in overwritable] == found
    assert size == (256 if "xi32>" in lines[0] else 64)
    assert (use.position, last) == (2, 2)


def test_a_copy_goes_on_with_its_destination() -> None:
    whole = copied("p", "a", "empty") + copied("q", "b", "%p", 8)
    block = block_of(A, B, whole)
    assert use_of(block, "p").results[0][1:] == (128, 3, ())
    size, last, overwritable = use_of(block, "q").results[0][1:]
    assert (size, last, [named(value) for value in overwritable]) == (128, 3, ["p"])
    assert [named(value) for value in use_of(block, "q").dying] == ["b", "p"]


def test_a_copy_within_a_tensor_overwrites_nothing() -> None:
    """It would read what it has written."""
    moved = copied("q", "p", "%p", 8).replace(
        "tensor<8x8xi8> into", "tensor<8x16xi8> into"
    )
    block = block_of(A, copied("p", "a", "empty"), moved)
    assert use_of(block, "q").results[0][3] == ()


def test_constants_and_unstored_copies_have_no_memory() -> None:
    """Who reads such a copy reads its source."""
    block = block_of(
        "%k = arith.constant dense<1> : tensor<8x8xi8>",
        A,
        """
      %p = kernel.copy %a[0, 0] [8, 8] [1, 1] into fill(0 : i8)[0, 0] [1, 1]
        : tensor<8x8xi8> into tensor<8x8xi8> in [#kernel.unstored]""",
        nest("y", "p", "k"),
    )
    uses = uses_of(block, last_uses(block))
    assert [(named(one.op.results[0]), one.position) for one in uses] == [
        *(("a", 1), ("y", 3)),
    ]
    assert [named(value) for value in uses[1].dying] == ["a", "k"]
    assert last_uses(block)[uses[0].op.results[0]] == 3


def formed(
    block: Block, scratch: int = 0, box: tuple[str, str] | None = None
) -> Storages:
    storages: Storages = {}
    values: dict[str, SSAValue] = {
        named(value): value for op in block.ops for value in op.results
    }
    boxes = {} if box is None else {values[box[0]]: values[box[1]]}
    asked: list[bool] = []

    def needed(_: NestOp, in_box: bool) -> int:
        asked.append(in_box)
        return scratch

    form_storages(uses_of(block, last_uses(block)), boxes, needed, storages)
    nests = [op for op in block.ops if isinstance(op, NestOp)]
    assert asked == [op.results[0] in boxes for op in nests]
    return storages


def spans(storages: Storages) -> dict[str, tuple[int, int, int]]:
    return {
        named(key): (one.size, one.first, one.last)
        for key, one in storages.items()
        if isinstance(key, SSAValue)
    }


def test_results_take_over_what_dies() -> None:
    block = block_of(A, B, nest("y", "a", "b"), nest("z", "b", "y"), returned="%z, %z")
    storages = formed(block)
    own = {
        named(key): one for key, one in storages.items() if isinstance(key, SSAValue)
    }
    assert own["y"] is own["a"]
    assert own["z"] is own["b"]
    assert own["a"] is not own["b"]
    assert spans(storages) == {
        **{"a": (64, 0, 3), "b": (64, 1, 4), "y": (64, 0, 3), "z": (64, 1, 4)}
    }
    outputs = outputs_of(block)
    assert [named(value) for value in outputs] == ["z", "z"]
    place_outputs([block.args[0], *outputs], storages)
    assert (own["z"].output, own["y"].output) == (1, None)


def test_scratch_lives_while_its_nest_runs() -> None:
    block = block_of(A, copied("p", "a", "empty"))
    storages = formed(block, scratch=24)
    (own,) = (one for key, one in storages.items() if not isinstance(key, SSAValue))
    assert (own.size, own.first, own.last) == (24, 0, 0)
    assert len(storages) == 3
    assert len(formed(block)) == 2


@pytest.mark.parametrize(
    ("box", "first"), [(None, 2), (("a", "p"), 0), (("b", "p"), 1)]
)
def test_what_a_nest_puts_into_a_box(box: tuple[str, str] | None, first: int) -> None:
    """The whole tensor lives from then on."""
    copies = copied("p", "a", "empty") + copied("q", "b", "%p", 8)
    storages = formed(block_of(A, B, copies), box=box)
    found = spans(storages)
    assert found["p"] == found["q"] == (128, first, 3)
    for name, own in {"a": (64, 0, 2), "b": (64, 1, 3)}.items():
        is_in_box = box is not None and name == box[0]
        assert found[name] == (found["p"] if is_in_box else own)
