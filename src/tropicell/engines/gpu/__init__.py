"""The cells engine in the plane on a GPU: `plane.cu` has the kernels, `run` drives them."""
