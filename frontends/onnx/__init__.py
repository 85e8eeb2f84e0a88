"""ONNX models to the relay dialect: a module per operator family, a handler per operator and opset (registry.py)."""

from relay_mlir.frontends.onnx.importer import import_onnx

__all__ = ["import_onnx"]
