"""Functions of SMT-LIB, by the operations of arith and math that they are."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, math, smt
from xdsl.ir import Operation

BINARY: Mapping[type[Operation], type[smt.BinaryBVOp]] = {
    arith.AddiOp: smt.BVAddOp,
    arith.MuliOp: smt.BVMulOp,
    arith.AndIOp: smt.BVAndOp,
    arith.OrIOp: smt.BVOrOp,
    arith.XOrIOp: smt.BVXOrOp,
    arith.ShLIOp: smt.BVShlOp,
    arith.ShRSIOp: smt.BVAShrOp,
    arith.ShRUIOp: smt.BVLShrOp,
    arith.DivSIOp: smt.BVSDivOp,
    arith.DivUIOp: smt.BVUDivOp,
    arith.RemSIOp: smt.BVSRemOp,
    arith.RemUIOp: smt.BVURemOp,
}

SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)

DIVISIONS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)

BOOLEAN: Mapping[type[Operation], type[smt.VariadicBoolOp]] = {
    arith.AndIOp: smt.AndOp,
    arith.OrIOp: smt.OrOp,
    arith.XOrIOp: smt.XOrOp,
}

PICKS: Mapping[type[Operation], tuple[str, int]] = {
    arith.MaxSIOp: ("bvslt", 1),
    arith.MaxUIOp: ("bvult", 1),
    arith.MinSIOp: ("bvslt", 0),
    arith.MinUIOp: ("bvult", 0),
}
"""A comparison, and which operand it picks where the first is less."""

CMPI = (
    *(("=", False, False), ("=", False, True)),
    *(("bvslt", False, False), ("bvsle", False, False)),
    *(("bvslt", True, False), ("bvsle", True, False)),
    *(("bvult", False, False), ("bvule", False, False)),
    *(("bvult", True, False), ("bvule", True, False)),
)
"""The function for each predicate, whether its operands are exchanged, and whether it
is negated."""

CMPF = {
    **{1: ("fp.eq", False), 2: ("fp.lt", True), 3: ("fp.leq", True)},
    **{4: ("fp.lt", False), 5: ("fp.leq", False)},
}
"""The function for each ordered predicate, oeq to ole, and whether its operands are
swapped."""

NEGATED = {13: 1, 9: 5, 10: 4, 11: 3, 12: 2}
"""Each unordered predicate is the negation of an ordered one: une of oeq ..."""

FLOATS: Mapping[type[Operation], str] = {
    arith.AddfOp: "fp.add RNE",
    arith.SubfOp: "fp.sub RNE",
    arith.MulfOp: "fp.mul RNE",
    arith.DivfOp: "fp.div RNE",
    arith.NegfOp: "fp.neg",
    math.AbsFOp: "fp.abs",
    math.FmaOp: "fp.fma RNE",
    math.SqrtOp: "fp.sqrt RNE",
    math.RoundEvenOp: "fp.roundToIntegral RNE",
    math.RoundOp: "fp.roundToIntegral RNA",
    math.FloorOp: "fp.roundToIntegral RTN",
    math.CeilOp: "fp.roundToIntegral RTP",
    math.TruncOp: "fp.roundToIntegral RTZ",
}
