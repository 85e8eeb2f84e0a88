"""lit's configuration: every .mlir file under test/ is a test."""

import os
import shutil
import sys

import lit.formats

root = os.path.dirname(__file__)
config.name = "relay-mlir"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.test_source_root = root  # noqa: F821
config.test_exec_root = os.path.join(root, "build", "lit")  # noqa: F821
config.excludes = ["build", "relay_mlir", ".venv", "bench", "docs"]  # noqa: F821
config.environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: F821
if shutil.which("mlir-opt-22"):
    config.available_features.add("mlir-opt-22")  # noqa: F821
