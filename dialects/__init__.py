"""The dialects, highest level first: relay, and what upstream dialects lack in xDSL."""

# Imported with the package: it corrects how xDSL prints float literals.
from relay_mlir.dialects import literals as literals
