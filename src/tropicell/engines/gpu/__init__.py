"""The cells engine in the plane on a GPU; `plane.cu` has the kernels.

`run`        a run: chunks of cells, layer by layer, and what memory allows
`_cuda`      the GPU, by way of CuPy
`_layout`    what is where in the device's memory
`_digits`    rows with twice the digits: when they are needed, and what bounds them
`_buffers`   that memory
`_exact`     cells that the device starts from, and those that it leaves to exact arithmetic
`_result`    finished regions as columns
"""
