"""What signatures of operators say of operands and options."""

from qlower.frontends.signature import arity, options_of


def test_options_follow_operands() -> None:
    text = "x[4]: REAL, bias?; mode: constant, size: 1..9, alpha: 1.0, axes: None"
    assert arity(text) == (1, 2)
    assert dict(options_of(text)) == {
        "mode": "constant",
        "size": range(1, 10),
        "alpha": 1.0,
        "axes": None,
    }
    assert options_of("x, more*") == ()
