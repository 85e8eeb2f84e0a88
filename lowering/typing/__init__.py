"""Type inference: terms with holes and their unification, and the coverage of matches."""
