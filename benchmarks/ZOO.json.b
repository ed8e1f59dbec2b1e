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
 }
]
