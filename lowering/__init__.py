"""The passes; pipeline.py states the order in which each target runs them."""
