[
 {
  "name": "shallow_8d",
  "hard": "9 hyperplanes in 8 dimensions.",
  "regions": 511,
  "why": "Zaslavsky: the sum of C(9, j) for j ≤ 8",
  "halfspaces": {
   "regions": 511,
   "seconds": 0.003130499999999259,
   "certify_seconds": 0.21599401100000026,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.07681910100000078
  },
  "relucent": {
   "regions": 511,
   "seconds": 5.353673,
   "complete": true,
   "peak_mb": 289.72265625,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "shallow_3d",
  "hard": "14 planes in general position.",
  "regions": 470,
  "why": "Zaslavsky: the sum of C(14, j) for j ≤ 3",
  "cells": {
   "regions": 470,
   "seconds": 0.009951067000000258,
   "certify_seconds": 0.0034707440000003587,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.1467458550000007
  },
  "halfspaces": {
   "regions": 470,
   "seconds": 0.003214413000000249
  },
  "relucent": {
   "regions": 470,
   "seconds": 4.784808999999999,
   "complete": true,
   "peak_mb": 290.08984375,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "shallow_4d",
  "hard": "9 hyperplanes in general position.",
  "regions": 256,
  "why": "Zaslavsky: the sum of C(9, j) for j ≤ 4",
  "cells": {
   "regions": 256,
   "seconds": 0.006256942000000265,
   "certify_seconds": 0.004071012999999013,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.06310496699999923
  },
  "halfspaces": {
   "regions": 256,
   "seconds": 0.0026046899999982998
  },
  "relucent": {
   "regions": 256,
   "seconds": 2.3440630000000002,
   "complete": true,
   "peak_mb": 288.6875,
   "verified": true,
   "version": "1.0.0"
  }
 },
 {
  "name": "folded_space",
  "hard": "Montúfar's network with three inputs: eight cubes at every corner.",
  "regions": 512,
  "why": "8 intervals of the line, to the power of the inputs",
  "cells": {
   "regions": 512,
   "seconds": 0.15373007400000027,
   "certify_seconds": 0.4168686620000006,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.15366255100000004
  },
  "halfspaces": {
   "regions": 512,
   "seconds": 0.030956965999999753
  },
  "relucent": {
   "error": "ValueError: Start point must not be on a hyperplane",
   "version": "1.0.0"
  }
 },
 {
  "name": "folded_plane",
  "hard": "Montúfar's network: a grid of squares, four of them at every corner.",
  "regions": 400,
  "why": "20 intervals of the line, to the power of the inputs",
  "cells": {
   "regions": 400,
   "seconds": 0.1016058399999995,
   "certify_seconds": 0.21792666300000008,
   "proved": true,
   "verified": true,
   "verify_seconds": 0.09094060700000028
  },
  "halfspaces": {
   "regions": 400,
   "seconds": 0.05282883000000105
  },
  "relucent": {
   "error": "ValueError: Start point must not be on a hyperplane",
   "version": "1.0.0"
  }
 }
]
