"""Float `.tflite` files quantized by ai-edge-quantizer, by each kind of its recipes.

Needs the optional package `ai-edge-quantizer`; surveys skip without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

from qlower.interp.values import Array

Rule = Mapping[str, object]

MIN_MAX = "min_max_uniform_quantize"

BLOCKS = (32, 64, 128, 256)


def weights(bits: int, granularity: str = "CHANNELWISE", **options: object) -> Rule:
    return {
        "num_bits": bits,
        "symmetric": True,
        "granularity": granularity,
        "dtype": "INT",
        **options,
    }


def rule(
    config: Mapping[str, object],
    algorithm: str = MIN_MAX,
    *,
    operation: str = "*",
    regex: str = ".*",
) -> Rule:
    return {
        "regex": regex,
        "operation": operation,
        "algorithm_key": algorithm,
        "op_config": config,
    }


def dynamic(bits: int, granularity: str = "CHANNELWISE", **options: str) -> Rule:
    """Weights by which LiteRT multiplies rows that it quantizes by their range."""
    config = {
        "weight_tensor_config": weights(bits, granularity),
        "compute_precision": "INTEGER",
        "explicit_dequantize": False,
    }
    return rule(config, **options)


def stored(bits: int, granularity: str = "CHANNELWISE", **options: object) -> Rule:
    """Weights that the model dequantizes itself."""
    config = {
        "weight_tensor_config": weights(bits, granularity, **options),
        "compute_precision": "FLOAT",
        "explicit_dequantize": True,
    }
    return rule(config)


def static(
    activations: int, bits: int, granularity: str = "CHANNELWISE", **options: str
) -> Rule:
    """Integers everywhere; activations of 16 bits have no zero point."""
    of_activations = weights(activations, "TENSORWISE", symmetric=activations == 16)
    config = {
        "activation_tensor_config": of_activations,
        "weight_tensor_config": weights(bits, granularity),
        "compute_precision": "INTEGER",
        "explicit_dequantize": False,
    }
    return rule(config, **options)


HALF = rule(
    {
        "weight_tensor_config": {"num_bits": 16, "dtype": "FLOAT"},
        "compute_precision": "FLOAT",
        "explicit_dequantize": True,
    },
    "float_casting",
)

LINEAR, CONVOLUTION, WORDS = "FULLY_CONNECTED", "CONV_2D", "EMBEDDING_LOOKUP"
OCTAV, ROTATED = "OCTAV", "DECOMPOSED_HADAMARD_ROTATION"

RECIPES: Mapping[str, Mapping[str, Sequence[Rule]]] = {
    "dynamic": {
        f"wi{bits}{granularity[0].lower()}": [dynamic(bits, granularity)]
        for bits in (8, 4, 2)
        for granularity in ("CHANNELWISE", "TENSORWISE")
    },
    "weight only": {
        "wi8c": [stored(8)],
        "wi8t": [stored(8, "TENSORWISE")],
        "wi8c points": [stored(8, symmetric=False)],
        "wi4c": [stored(4)],
        "wi4t": [stored(4, "TENSORWISE")],
        "wi4c points": [stored(4, symmetric=False)],
    },
    "static": {
        "a8w8": [static(8, 8)],
        "a8w8t": [static(8, 8, "TENSORWISE")],
        "a16w8": [static(16, 8)],
        "a8w4": [static(8, 4)],
        "a16w4": [static(16, 4)],
    },
    "blocks": {
        f"wi{bits}b{size}": [dynamic(bits, f"BLOCKWISE_{size}")]
        for bits in (4, 2)
        for size in BLOCKS
    },
    "float16": {"half": [HALF]},
    "mixed": {
        "linear wi4, others wi8": [dynamic(8), dynamic(4, operation=LINEAR)],
        "words wi4, linear wi8": [
            dynamic(4, operation=WORDS),
            dynamic(8, operation=LINEAR),
        ],
        "linear blocks, others wi8": [
            dynamic(8),
            dynamic(4, "BLOCKWISE_32", operation=LINEAR),
        ],
        "convolutions static": [static(8, 8, operation=CONVOLUTION)],
        "linear static": [static(8, 8, operation=LINEAR)],
        "linear a16, others a8": [static(8, 8), static(16, 8, operation=LINEAR)],
        "even ones wi8": [dynamic(8, regex=".*[02468];?$")],
        "even ones static": [static(8, 8, regex=".*[02468];?$")],
        "even ones a16, others wi8": [dynamic(8), static(16, 8, regex=".*[02468];?$")],
    },
    "algorithms": {
        "octav wi8": [dynamic(8, algorithm=OCTAV)],
        "octav wi4": [dynamic(4, algorithm=OCTAV)],
        "octav a16w8": [static(16, 8, algorithm=OCTAV)],
        "mse wi4": [dynamic(4, algorithm="MSE")],
        "gptq wi8": [dynamic(8, algorithm="GPTQ")],
        "gptq wi4": [dynamic(4, algorithm="GPTQ")],
        "oscar wi4": [dynamic(4, algorithm="OSCAR")],
        "rotated wi8": [dynamic(8, algorithm=ROTATED)],
        "rotated wi4": [dynamic(4, algorithm=ROTATED)],
        "rotated wi2": [dynamic(2, algorithm=ROTATED)],
    },
}
"""By family and name: the rules; later ones go first."""


def quantize(
    data: bytes, recipe: Sequence[Rule], examples: Sequence[Mapping[str, Array]]
) -> bytes:
    """The file quantized; raises what the quantizer raises where it doesn't."""
    module = import_module("ai_edge_quantizer.quantizer")
    quantizer = module.Quantizer(bytearray(data), [dict(one) for one in recipe])
    found = None
    if quantizer.need_calibration:
        found = quantizer.calibrate({"serving_default": list(examples)})
    return bytes(quantizer.quantize(found).quantized_model)
