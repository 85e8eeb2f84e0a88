"""lit's configuration: every .mlir file under test/ is a test; see test/support/lit_format.py."""

# ruff: noqa: F821 (lit defines `config`)

import os
import shutil
import sys

root = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(root, "test", "support"))

from lit_format import InProcessTest  # noqa: E402

config.name = "relay-mlir"
config.test_format = InProcessTest()
config.suffixes = [".mlir"]
config.test_source_root = root
config.test_exec_root = os.path.join(root, "build", "lit")
config.excludes = ["build", "relay_mlir", ".venv", "bench", "docs", "inputs"]
config.environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
if shutil.which("mlir-opt-22"):
    config.available_features.add("mlir-opt-22")
