"""The engines that enumerate regions, and their Numba kernels."""
