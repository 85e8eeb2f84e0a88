"""The dialects, highest level first: relay, and what upstream dialects lack in xDSL."""

import relay_mlir.dialects.literals  # noqa: F401  (corrects how xDSL prints float literals)
