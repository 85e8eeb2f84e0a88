"""What the importers of models share: values while importing, the emitter of operators, and composed operations."""
