"""The names of engines and of precisions."""

from typing import Literal, TypeAlias

EngineName: TypeAlias = Literal["auto", "onnx", "torch"]
Precision: TypeAlias = Literal["auto", "float32", "bfloat16", "int8"]
ENGINE_VARIABLE = "DEPKIT_ENGINE"
