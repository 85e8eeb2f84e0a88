"""How linalg-to-loops writes loops: an emitter of scf loops, vectorized bodies, loop nests and contraction kernels."""
