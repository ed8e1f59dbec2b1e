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
 }
]
