"""The dialects, highest level first: relay, and what upstream dialects lack in xDSL."""
