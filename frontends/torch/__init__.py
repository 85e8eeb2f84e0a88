"""PyTorch models to relay: `reader.py` reads an ExportedProgram, a module per operator family (`ops_*`) converts it."""

from relay_mlir.frontends.torch.importer import import_torch

__all__ = ["import_torch"]
