[
 {
  "name": "one_neuron",
  "hard": "Two half-planes, no corner anywhere.",
  "regions": 2,
  "why": "a line has two sides",
  "cells": {
   "regions": 2,
   "seconds": 0.0017838039999995559,
   "certify_seconds": 0.0016180979999997902,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.002822623000000135
  },
  "halfspaces": {
   "regions": 2,
   "seconds": 0.0015528609999995169
  },
  "relucent": {
   "regions": 2,
   "seconds": 0.49031999999999987,
   "complete": true,
   "peak_mb": 284.9921875,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "more_inputs_than_neurons",
  "hard": "All regions contain lines: they have no corners, whatever box is drawn around.",
  "regions": 16,
  "why": "independent hyperplanes: every pattern, 2^4",
  "halfspaces": {
   "regions": 16,
   "seconds": 0.0035964499999998623,
   "certify_seconds": 0.005571155000000161,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.004218912000000685
  },
  "relucent": {
   "regions": 16,
   "seconds": 0.1637040000000003,
   "complete": true,
   "peak_mb": 287.97265625,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "dead_layer",
  "hard": "A layer that is off everywhere, with layers after it that see constants.",
  "regions": 22,
  "why": "the first layer's 6 lines in general position",
  "cells": {
   "regions": 22,
   "seconds": 0.005318973000000504,
   "certify_seconds": 0.003974088999999736,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.008912066999999801
  },
  "halfspaces": {
   "regions": 22,
   "seconds": 0.02687694900000004
  },
  "relucent": {
   "error": "ValueError: Start point must not be on a hyperplane",
   "version": "1.0.0"
  }
 },
 {
  "name": "duplicate_neurons",
  "hard": "Every line is there three times, at other scales: no slivers in between.",
  "regions": 22,
  "why": "6 different lines in general position",
  "cells": {
   "regions": 22,
   "seconds": 0.01526515199999956,
   "certify_seconds": 0.04287406400000027,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.008756445999999585
  },
  "halfspaces": {
   "regions": 22,
   "seconds": 0.012950161000000016
  },
  "relucent": {
   "error": "NonGenericArrangementError: halfspaces [0, 6, 12] of 888bc52a are the same hyperplane to within float64 error, and it is a facet: the arrangement is not simple (typically a unit with an exactly zero bias whose only active input is the other unit). relucent needs a simple arrangement; the facet canno",
   "version": "1.0.0"
  }
 },
 {
  "name": "almost_duplicate_neurons",
  "hard": "Rows times 0.1, 3 and 0.7 in floats: equal but for rounding, so lines cross somewhere.",
  "regions": 78,
  "why": "by the oracle",
  "cells": {
   "regions": 78,
   "seconds": 0.023653041999999402,
   "certify_seconds": 0.08544713700000006,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.019529971000000756
  },
  "halfspaces": {
   "regions": 78,
   "seconds": 0.2792880730000009
  },
  "relucent": {
   "error": "NonGenericArrangementError: halfspaces [1, 4, 7, 10] of 36a1dde1 are the same hyperplane to within float64 error, and it is a facet: the arrangement is not simple (typically a unit with an exactly zero bias whose only active input is the other unit). relucent needs a simple arrangement; the facet ca",
   "version": "1.0.0"
  }
 },
 {
  "name": "identity_layers",
  "hard": "Layers that hand on what they get: every boundary comes three times.",
  "regions": 16,
  "why": "relu(relu(x)) = relu(x): the first layer's 5 lines",
  "cells": {
   "regions": 16,
   "seconds": 0.01358415199999996,
   "certify_seconds": 0.041707626000000886,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.006394777000000573
  },
  "halfspaces": {
   "regions": 16,
   "seconds": 0.023814123000001075
  },
  "relucent": {
   "error": "NonGenericArrangementError: halfspaces [0, 5, 10] of df39bcaf are the same hyperplane to within float64 error, and it is a facet: the arrangement is not simple (typically a unit with an exactly zero bias whose only active input is the other unit). relucent needs a simple arrangement; the facet canno",
   "version": "1.0.0"
  }
 },
 {
  "name": "rank_one_layers",
  "hard": "All matrices have rank 1: strips within strips, nowhere a corner.",
  "regions": 8,
  "why": "by the oracle",
  "cells": {
   "regions": 8,
   "seconds": 0.0038682419999993556,
   "certify_seconds": 0.00567977699999922,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.0036009159999998985
  },
  "halfspaces": {
   "regions": 8,
   "seconds": 0.005730672000000325
  },
  "relucent": {
   "regions": 8,
   "seconds": 0.09379999999999988,
   "complete": true,
   "peak_mb": 288.05078125,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "deep_zero_biases",
  "hard": "Cones cut by bent boundaries that all pass through the origin.",
  "regions": 21,
  "why": "by the oracle",
  "cells": {
   "regions": 21,
   "seconds": 0.01602663999999976,
   "certify_seconds": 0.020371758999999656,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.007638720999999293
  },
  "halfspaces": {
   "regions": 21,
   "seconds": 0.07409979100000008
  },
  "relucent": {
   "error": "ValueError: Start point must not be on a hyperplane",
   "version": "1.0.0"
  }
 },
 {
  "name": "planes_through_one_point",
  "hard": "Whole-number planes through (1, -2, 3).",
  "regions": 134,
  "why": "Zaslavsky, all through one point: twice the sum of C(11, j), j < 3",
  "cells": {
   "regions": 134,
   "seconds": 0.034095286000001224,
   "certify_seconds": 0.06362284299999921,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.023960106000000536
  },
  "halfspaces": {
   "regions": 134,
   "seconds": 0.09622931499999865
  },
  "relucent": {
   "regions": 134,
   "seconds": 4.8038799999999995,
   "complete": true,
   "peak_mb": 286.6015625,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "small_whole_numbers_in_3d",
  "hard": "The same with three inputs.",
  "regions": 67,
  "why": "by the oracle",
  "cells": {
   "regions": 67,
   "seconds": 0.03603103999999924,
   "certify_seconds": 0.0405448039999996,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.014506184000000033
  },
  "halfspaces": {
   "regions": 67,
   "seconds": 0.0446250629999998
  },
  "relucent": {
   "error": "NonGenericArrangementError: halfspaces [1, 8] of 509dbc1c are the same hyperplane to within float64 error, and it is a facet: the arrangement is not simple (typically a unit with an exactly zero bias whose only active input is the other unit). relucent needs a simple arrangement; the facet cannot be",
   "version": "1.0.0"
  }
 },
 {
  "name": "nearly_one_point",
  "hard": "Lines that miss a common point by 1e-15: triangles of that size between them.",
  "regions": 22,
  "why": "by the oracle",
  "cells": {
   "regions": 22,
   "seconds": 0.008050463000000008,
   "certify_seconds": 0.015550522999999927,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.004898660000000277
  },
  "halfspaces": {
   "regions": 22,
   "seconds": 0.028419444999999044
  },
  "relucent": {
   "error": "AmbiguousGeometryError: Chebyshev LP radius -0.0000e+00 but its center is not strictly inside every row beyond the rows' float64 error: cannot decide whether the cell is empty",
   "version": "1.0.0"
  }
 },
 {
  "name": "tiny_weights",
  "hard": "Everything times 1e-150: squares of weights underflow.",
  "regions": 37,
  "why": "8 lines in general position",
  "cells": {
   "regions": 37,
   "seconds": 0.008659623999999866,
   "certify_seconds": 0.013941831000000349,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.007173083999999719
  },
  "halfspaces": {
   "regions": 37,
   "seconds": 0.014336836999998326
  },
  "relucent": {
   "error": "AmbiguousGeometryError: Chebyshev LP radius 1.0000e+02 but its center is not strictly inside every row beyond the rows' float64 error: cannot decide whether the cell is empty",
   "version": "1.0.0"
  }
 },
 {
  "name": "mixed_scales_of_layers",
  "hard": "Layers times 1e-150, 1e150 and 1e-150.",
  "regions": 22,
  "why": "positive factors change no pattern; without them by the oracle",
  "cells": {
   "regions": 22,
   "seconds": 0.011005669999999412,
   "certify_seconds": 0.017013571999999755,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.00722112200000069
  },
  "halfspaces": {
   "regions": 22,
   "seconds": 0.029902135000000385
  },
  "relucent": {
   "error": "ValueError: Start point must not be on a hyperplane",
   "version": "1.0.0"
  }
 },
 {
  "name": "float32_model",
  "hard": "Weights of a float32 model on a grid of tenths: degenerate but for rounding.",
  "regions": 52,
  "why": "by the oracle",
  "cells": {
   "regions": 52,
   "seconds": 0.007762302999999804,
   "certify_seconds": 0.00759165899999914,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.013794391000001127
  },
  "halfspaces": {
   "regions": 52,
   "seconds": 0.01301888300000087
  },
  "relucent": {
   "error": "NonGenericArrangementError: halfspaces [5, 9] of 3b25622d are the same hyperplane to within float64 error, and it is a facet: the arrangement is not simple (typically a unit with an exactly zero bias whose only active input is the other unit). relucent needs a simple arrangement; the facet cannot be",
   "version": "1.0.0"
  }
 },
 {
  "name": "deep_sawtooth_in_a_box",
  "hard": "Forty layers, pieces of width 1e-12: layers are near-copies of each other.",
  "regions": 3,
  "why": "three of 2^40 pieces of the same width",
  "cells": {
   "regions": 3,
   "seconds": 0.02662490700000042,
   "certify_seconds": 0.0472261679999999,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.02531538499999897
  },
  "halfspaces": {
   "regions": 3,
   "seconds": 0.05717702000000102
  },
  "relucent": {
   "error": "NonGenericArrangementError: halfspaces [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78] of f7c95acd are the same hyperplane to within float64 error, and it is a facet: the arrangement is not si",
   "version": "1.0.0"
  }
 },
 {
  "name": "skip_in_disguise",
  "hard": "A skip 1→3 that a plain network does with neurons that hand layer 1 on.",
  "regions": 31,
  "why": "as many as the plain network, by the oracle",
  "cells": {
   "regions": 31,
   "seconds": 0.009309425999999732,
   "certify_seconds": 0.01030781499999911,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.008679582999999269
  },
  "halfspaces": {
   "regions": 31,
   "seconds": 0.01622434299999931
  },
  "relucent": {
   "error": "takes no skip connections"
  }
 }
]
