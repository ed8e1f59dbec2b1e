// The cells engine in the plane, for a GPU: see docs/gpu.md, and docs/error-bound.md for the bounds.
//
// The same file compiles as C++ with TROPICELL_HOST defined: a group of lanes then has one lane and a
// kernel does all the work itself. That is how it is tested where there is no GPU.
//
// All kernels walk over their items with groups of lanes. Compile without fused multiply-add.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifdef TROPICELL_HOST

#include <math.h>
#include <string.h>
#define DEVICE static inline
#define METHOD inline
#define KERNEL extern "C" void
#define LIGHT_KERNEL KERNEL
#define DEEP_KERNEL KERNEL
#define UNROLL
#define ROLLED
#define GIVEN const

template <class T> DEVICE T take(T *place, T amount) { T old = *place; *place += amount; return old; }
DEVICE int ones(u32 x) { return __builtin_popcount(x); }
DEVICE int ones(u64 x) { return __builtin_popcountll(x); }
DEVICE int lowest(u32 x) { return __builtin_ctz(x); }
DEVICE int lowest(u64 x) { return __builtin_ctzll(x); }
DEVICE void publish() {}
DEVICE u64 bits_of(double x) { u64 bits; memcpy(&bits, &x, 8); return bits; }
DEVICE double from_bits(u64 bits) { double x; memcpy(&x, &bits, 8); return x; }

struct Group {
    int size, lane, index, count;
    Group(int) : size(1), lane(0), index(0), count(1) {}
    void sync() const {}
    template <class T> T either(T x) const { return x; }
    double sum(double x) const { return x; }
    template <class T> T first(T x) const { return x; }
};

// Writes a set, one bit a lane of a whole warp at a time.
struct SetWriter {
    u32 *set;
    SetWriter(u32 *to) : set(to) {}
    int put(const Group &, bool x, int at) {
        if ((at & 31) == 0) set[at / 32] = 0;
        set[at / 32] |= (u32)x << (at & 31);
        return x;
    }
    void end(const Group &, int) {}
};

// All threads of a launch.
struct Everyone {
    int threads;
    Everyone() : threads(1) {}
    void meet(u64 *) {}
};

#define WORKSPACE(type, name) type name

#else

#define DEVICE static __device__ __forceinline__
#define METHOD __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(256, 2)  // 2: see _cuda.py
#define LIGHT_KERNEL extern "C" __global__ void __launch_bounds__(256, 4)
#define DEEP_KERNEL extern "C" __global__ void __launch_bounds__(256, 3)
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")  // short code: the instruction caches are small
#define GIVEN const __grid_constant__

DEVICE u32 take(u32 *place, u32 amount) { return atomicAdd(place, amount); }
DEVICE u64 take(u64 *place, u64 amount) { return atomicAdd(place, amount); }
DEVICE int ones(u32 x) { return __popc(x); }
DEVICE int ones(u64 x) { return __popcll(x); }
DEVICE int lowest(u32 x) { return __ffs((int)x) - 1; }
DEVICE int lowest(u64 x) { return __ffsll((i64)x) - 1; }
DEVICE void publish() { __threadfence_system(); }  // the processor too sees all that was written
DEVICE u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
DEVICE double from_bits(u64 bits) { return __longlong_as_double((i64)bits); }

// Neighbouring lanes of a warp that work on one item: 1, 2, 4, … 32.
struct Group {
    int size, lane, index, count;
    u32 mask;
    METHOD Group(int n) : size(n) {
        int thread = blockIdx.x * blockDim.x + threadIdx.x;
        lane = thread & (n - 1);
        index = thread / n;
        count = gridDim.x * blockDim.x / n;
        mask = (n == 32 ? 0xffffffffu : (1u << n) - 1u) << (threadIdx.x & 31 & ~(n - 1));
    }
    METHOD void sync() const { __syncwarp(mask); }
    METHOD u32 either(u32 x) const {
#if __CUDA_ARCH__ >= 800
        return __reduce_or_sync(mask, x);
#else
        for (int step = size / 2; step; step /= 2) x |= __shfl_xor_sync(mask, x, step, size);
        return x;
#endif
    }
    METHOD u64 either(u64 x) const { return (u64)either((u32)(x >> 32)) << 32 | either((u32)x); }
    METHOD double sum(double x) const {
        for (int step = size / 2; step; step /= 2) x += __shfl_xor_sync(mask, x, step, size);
        return x;
    }
    template <class T> METHOD T first(T x) const { return __shfl_sync(mask, x, 0, size); }
};

// Writes a set, one bit a lane of a whole warp at a time. Every lane keeps one of 32 words.
struct SetWriter {
    u32 *set, word;
    METHOD SetWriter(u32 *to) : set(to), word(0) {}
    // Add the bits from `at` on; returns how many are 1.
    METHOD int put(const Group &group, bool x, int at) {
        u32 bits = __ballot_sync(group.mask, x);
        int which = at / 32 & 31;
        if (group.lane == which) word = bits;
        if (which == 31) set[(at / 32 & ~31) + group.lane] = word;
        return __popc(bits);
    }
    METHOD void end(const Group &group, int n) {
        int words = (n + 31) / 32, at = (words & ~31) + group.lane;
        if (at < words) set[at] = word;
    }
};

// All threads of a cooperative launch: all its blocks run at the same time, so they can wait for each other.
struct Everyone {
    int threads;
    u64 expected;
    METHOD Everyone() : threads(gridDim.x * blockDim.x), expected(0) {}
    METHOD void meet(u64 *arrived) {
        __syncthreads();
        if (threadIdx.x == 0) {
            expected += gridDim.x;
            __threadfence();
            atomicAdd(arrived, (u64)1);
            while (*(volatile u64 *)arrived < expected) {}
            __threadfence();
        }
        __syncthreads();
    }
};

// Memory that the lanes of a warp share.
#define WORKSPACE(type, name) \
    __shared__ type name##_of_warps[8]; \
    type &name = name##_of_warps[threadIdx.x / 32]

#endif

// --- what Python lays out; see _layout.py -----------------------------------------------------

#define ROUND 1.1102230246251565e-16  // half the distance from 1 to the next float64
#define INFLATE 1.0000001             // covers the rounding of the bounds themselves
#define TINY 1e-200                   // covers underflow
#define SHARP 1e-7                    // stored vertices are at least this sharp
#define BOUND_UNITS 1125899906842624.0  // bounds times this, 2^50, are multiplied in float32

#define POSITIVE 1
#define NEGATIVE 2
#define CROSSES 3
#define DOUBTFUL 4

#define UNSURE 0x40000000  // this bit of a cell's number of corners: it must be decided exactly
#define MOST_CORNERS 62    // cells with more corners are cut elsewhere
#define MOST_PAIRS 16      // up to so many lines are counted pair by pair
#define SPARE 8            // roundings that the bounds of the products leave room for

// A corner: vertex (its absolute coordinates add up to 1) and its error bound; the row of the edge to the
// next corner (largest coefficient 1) and its error bound.
struct alignas(16) Corner { double x, y, w, eps, a, b, c, eta; };

// The edge's label, plus or minus (line + 1); and whether the vertex lies at infinity.
struct Tag { int label, ray; };

// Cells that are being cut: node, corners, and two sets of the lines that cross the node: on whose positive
// side the cell lies, and which of them cross it.
struct Cells { int *node, *start, *n; u32 *up, *open; };

// Cells for exact arithmetic, with the pieces of the layer so far and the open lines of the layer.
struct Unsure { int *node, *start, *n; u32 *pieces, *open; };

// A row: a neuron or line on a cell, with an error bound for each of its coefficients.
struct alignas(16) Line { double a, b, c, error; };

// What bounds the rows of a layer where they have twice the digits; names and steps as in docs/gpu.md.
struct Deep {
    double norm, row, rest, terms;        // ‖W‖, v, Z / B, slices · n + 8
    double root, swing, slope, rounding;  // √width, 2 pieces - 1, s, and the relative rounding of outputs (step 1)
    double grid, finer;                   // 1.5 · 2^(52 - p), 2^-p
    double base_most[3], base_norm[3], base_error[3];  // bias and layer 0: largest, norm, norm of the errors
    double intercept[3], inexact[3];      // norms of intercepts, and of all else that φ has
};

// A layer, and the nodes (cells) that enter it.
struct Level {
    int index, width, lines, words, piece_words;  // words of 32 open lines; of pieces
    int plain, relu, from_input;                  // one line a neuron, at 0; ReLU; layer 0 is read
    int n_sources, inputs, after_last;            // source layers but 0; their neurons; is the layer before one?
    int first_line, first_neuron, pieces;         // the most pieces of a neuron
    double gamma;
    const int *sources;                           // layers, the last one first
    const double *base, *base_error;              // bias and layer 0: three rows; error bound
    const double *slopes, *intercepts, *bias;
    const int *row;                               // neuron of every line
    const double *at, *slack;                     // breakpoint, part of the error bound
    const double *weights;                        // (inputs, width)
    double *outputs, *products;                   // rows of all sources; weights times them
    float *bounds, *errors;                       // bounds for both, in units of their own
    const double *units;
    double *maps;                                 // rows of this layer and their bounds, where they are kept
    int *start, *n, *parent;                      // nodes: corners, number in the chunk of the layer before
    u32 *done, *up;                               // pieces of the layer before; see Cells
    u32 *sure, *crossing;                         // per node of the chunk: pieces without the lines that cross; these
    int *record, *crossings;                      // where the rows of these begin, and their number
    int done_words, up_words, capacity, first;    // the chunk: nodes from `first` on
    int slices, spare;                            // outputs that are read: in so many slices
    // Only where rows have twice the digits:
    const Deep *deep;
    const double *base_low;                       // low parts of `base`
    i64 slice;                                    // from the product of some slices to the next
    double *scales;                               // per row of the products: bounds B
    double *known;                                // per node of the chunk: norms of outputs, and of their errors
};

struct Counters {
    u64 found, arena, records, overflow, nodes, unsure, splits, tests, blunt, arrived;
    u64 open[4];
};

struct Engine {
    Level *levels;  // 1 … depth, and depth + 1 for what is finished
    Counters *counters;
    Corner *corners;
    Tag *tags;
    i64 arena;      // room for corners
    Line *records;  // the lines that cross a node
    double *lows;   // their low parts, where rows have twice the digits (`deep`)
    i64 most_records;
    Cells cells[2];
    Unsure unsure;
    i64 room;       // room for cells
    int depth, exact, store, bits, deep, spare;
    double tolerance;
    const double *domain;  // rows of the domain, that of infinity first
    i64 n_domain;
    double scale_x, scale_y, infinity;
};

// --- lines and corners -------------------------------------------------------------------------------

// A neuron before its activation on a node whose rows are kept.
#define KEPT(g) ((g).deep ? 7 : 4)  // coefficients, error bound, low parts
DEVICE Line before(const Engine &g, const Level &level, int node, int neuron) {
    const double *maps = level.maps + (i64)node * (KEPT(g) * level.width) + neuron;
    Line m = {maps[0], maps[level.width], maps[2 * level.width], maps[3 * level.width]};
    return m;
}

// A line from its neuron. In plain levels all breakpoints are 0.
template <bool plain> DEVICE Line as_line(const Engine &g, const Level &level, Line m, int line) {
    if (!plain) m.c -= level.at[line];
    if (g.exact) m.error += level.slack[line];
    return m;
}

DEVICE double size_of(const Line &m) { return fabs(m.a) + fabs(m.b) + fabs(m.c); }

template <class Point> DEVICE double value(const Line &m, const Point &p) {
    return fma(m.a, p.x, fma(m.b, p.y, m.c * p.w));
}

DEVICE double bound(const Line &m, double size, double eps) {
    return size * (eps + 8.0 * ROUND) + m.error * (1.0001 + 3.0 * eps);
}

// On which sides of a line the corners lie, as a set of bits.
template <class Point> DEVICE int side(const Line &m, const Point *corners, int n) {
    double size = size_of(m);
    int seen = 0;
    ROLLED
    for (int i = 0; i < n; i++) {
        double s = value(m, corners[i]), b = bound(m, size, corners[i].eps);
        seen |= s > b ? POSITIVE : (s < -b ? NEGATIVE : DOUBTFUL);
    }
    return (seen & CROSSES) == CROSSES ? CROSSES : seen;
}

// Sides of two corners: POSITIVE or NEGATIVE if they agree surely, else CROSSES or 0.
DEVICE int pair(const Line &m, const Corner &p, const Corner &q) {
    double b = bound(m, size_of(m), fmax(p.eps, q.eps));
    double s = value(m, p), t = value(m, q);
    if (s > b) return t > b ? POSITIVE : (t < -b ? CROSSES : 0);
    if (s < -b) return t < -b ? NEGATIVE : (t > b ? CROSSES : 0);
    return 0;
}

// Write the row of an edge on a line into a corner.
DEVICE void set_edge(Corner &p, const Line &m, double sign) {
    double largest = fmax(fabs(m.a), fmax(fabs(m.b), fabs(m.c)));
    double factor = sign / largest;
    p.a = m.a * factor;
    p.b = m.b * factor;
    p.c = m.c * factor;
    p.eta = m.error * fabs(factor) * INFLATE + 8.0 * ROUND;
}

// Write the vertex where the edges of p and q meet, up to sign p × q, with its error bound.
DEVICE void meet(const Corner &p, const Corner &q, double sign, Corner &out) {
    double x = sign * (p.b * q.c - p.c * q.b);
    double y = sign * (p.c * q.a - p.a * q.c);
    double w = sign * (p.a * q.b - p.b * q.a);
    double error = (2.0 * (p.eta + q.eta + p.eta * q.eta) + 8.0 * ROUND) * INFLATE;
    double size = fabs(x) + fabs(y) + fabs(w);
    bool known = size > 0.0;
    double factor = known ? 1.0 / size : 0.0;
    out.x = x * factor;
    out.y = y * factor;
    out.w = w * factor;
    out.eps = known ? error * factor * INFLATE + 4.0 * ROUND : 1e300;
}

// The same in float arithmetic: between two corners with values of different signs.
DEVICE void between(const Corner &p, double s, const Corner &q, double t, double tol, Corner &out) {
    double a = fabs(s), b = fabs(t);
    double x = b * p.x + a * q.x, y = b * p.y + a * q.y, w = b * p.w + a * q.w;
    double size = fabs(x) + fabs(y) + fabs(w);
    out.x = x / size;
    out.y = y / size;
    out.w = w / size;
    out.eps = tol;
}

DEVICE void copy_vertex(const Corner &from, Corner &to) {
    to.x = from.x;
    to.y = from.y;
    to.w = from.w;
    to.eps = from.eps;
}

DEVICE void copy_edge(const Corner &from, Corner &to) {
    to.a = from.a;
    to.b = from.b;
    to.c = from.c;
    to.eta = from.eta;
}

// --- sets of bits ------------------------------------------------------------------------------------

DEVICE int members(const u32 *words, int n) {
    int total = 0;
    ROLLED
    for (int w = 0; w < n; w++) total += ones(words[w]);
    return total;
}

// The bit number `rank` of those that are 1, counted from 0.
DEVICE int nth(u32 word, int rank) {
    int at = 0;
    UNROLL
    for (int half = 16; half; half /= 2) {
        int below = ones(word & ((1u << half) - 1u));
        bool above = rank >= below;
        rank -= above ? below : 0;
        word >>= above ? half : 0;
        at += above ? half : 0;
    }
    return at;
}

// The member number `rank`, counted from 0.
DEVICE int member(const u32 *words, int rank) {
    for (int w = 0;; w++) {
        int here = ones(words[w]);
        if (rank < here) return 32 * w + nth(words[w], rank);
        rank -= here;
    }
}

DEVICE void add_piece(const Engine &g, u32 *pieces, int neuron) {
    int bit = g.bits * neuron;
    take(pieces + bit / 32, (u32)1 << (bit & 31));
}

DEVICE int piece_of(const Engine &g, const u32 *pieces, int neuron) {
    int bit = g.bits * neuron;
    return (int)(pieces[bit / 32] >> (bit & 31) & ((1u << g.bits) - 1u));
}

// --- maps --------------------------------------------------------------------------------------------

// Start on some nodes of a level: nothing is found yet, and all of them are to be cut.
DEVICE void start_on(const Engine &g, int level, int first, u64 count, u64 arena, u64 records) {
    Counters &c = *g.counters;
    g.levels[level].first = first;
    c.found = c.overflow = c.nodes = c.unsure = c.splits = c.tests = c.blunt = c.arrived = 0;
    c.arena = arena;
    c.records = records;
    c.open[0] = count;
    c.open[1] = c.open[2] = c.open[3] = 0;
}

KERNEL begin(GIVEN Engine g, int level, int first, int count, u64 arena, u64 records) {
    if (Group(1).index) return;
    start_on(g, level, first, (u64)count, arena, records);
}

// Report what came out of a level, and start on all nodes of the next one before the processor knows their
// number: on none if they are more than `most`, or if the level must be done again.
KERNEL follow(GIVEN Engine g, int next, int most, Counters *report) {
    if (Group(1).index) return;
    Counters c = *g.counters;
    u64 count = c.overflow || c.nodes > (u64)most ? 0 : c.nodes;
    c.open[0] = count;
    *report = c;
    start_on(g, next, 0, count, c.arena, c.records);
    publish();
}

DEVICE double larger(double a, double b) { return a > b ? a : b; }
DEVICE double largest_of(const Line &m) { return larger(fabs(m.a), larger(fabs(m.b), fabs(m.c))); }

// Output of a neuron on one of its pieces, for the layer that reads it; `m.error` covers all of m.
DEVICE Line output(const Engine &g, const Level &from, const Level &to, Line m, int neuron, int piece) {
    double slope = 1.0, intercept = 0.0;
    if (!from.relu) {
        slope = from.slopes[neuron * from.pieces + piece];
        intercept = from.intercepts[neuron * from.pieces + piece];
    }
    if (slope == 0.0 || (from.relu && !piece)) {
        m.a = m.b = m.c = m.error = 0.0;
        if (intercept == 0.0) return m;
    }
    if (slope != 1.0 || intercept != 0.0) {
        m.a *= slope;
        m.b *= slope;
        m.c *= slope;
        m.error = fabs(slope) * m.error + 4.0 * ROUND * (largest_of(m) + fabs(intercept));
        m.c += intercept;
    }
    if (g.exact) m.error = (m.error * INFLATE + to.gamma * largest_of(m) + TINY) * INFLATE;
    return m;
}

// The bound for a neuron before its activation, with the rounding of its bias.
DEVICE Line all_errors(const Engine &g, const Level &level, Line m, int neuron) {
    if (g.exact) m.error += level.gamma * fabs(level.bias[neuron]) + TINY;
    return m;
}

// Write an output of a neuron to the matrix of the layer that reads it.
DEVICE void put_output(const Engine &g, const Level &from, const Level &to, Line m, int neuron, int piece,
                       int row, int offset) {
    m = output(g, from, to, m, neuron, piece);
    double *out = to.outputs + (i64)row * (3 * to.inputs) + offset + neuron;
    out[0] = m.a;
    out[to.inputs] = m.b;
    out[2 * to.inputs] = m.c;
    if (g.exact) {
        // Never 0 unless it is; infinite, and so in doubt, if it is very large.
        float bound = (float)(m.error * BOUND_UNITS);
        if (m.error != 0.0 && bound < 1e-30f) bound = 1e-30f;
        to.bounds[(i64)row * to.inputs + offset + neuron] = bound;
    }
}

// --- rows with twice the digits: see docs/gpu.md -------------------------------------------------------

// Coefficients as sums of two floats.
struct Wide { double h[3], l[3]; };

// A sum of two floats without error.
DEVICE void add(double a, double b, double &sum, double &rest) {
    sum = a + b;
    double t = sum - a;
    rest = (a - (sum - t)) + (b - t);
}

// A power of two that is larger than x and at most 2 x; infinite if x is infinite or NaN.
DEVICE double power_above(double x) { return 2.0 * from_bits(bits_of(x) & 0x7ff0000000000000ull); }

// Output of a neuron on one of its pieces.
DEVICE Wide deep_output(const Level &from, Wide m, int neuron, int piece) {
    double slope = piece, intercept = 0.0;
    if (!from.relu) {
        slope = from.slopes[neuron * from.pieces + piece];
        intercept = from.intercepts[neuron * from.pieces + piece];
    }
    if (slope == 0.0) {
        Wide constant = {{0.0, 0.0, intercept}, {0.0, 0.0, 0.0}};
        return constant;
    }
    if (slope != 1.0) {
        UNROLL
        for (int c = 0; c < 3; c++) {
            double p = slope * m.h[c], e = fma(slope, m.h[c], -p);
            add(p, fma(slope, m.l[c], e), m.h[c], m.l[c]);
        }
    }
    if (intercept != 0.0) {
        double s, e;
        add(m.h[2], intercept, s, e);
        add(s, e + m.l[2], m.h[2], m.l[2]);
    }
    return m;
}

// Write an output to the matrix of the layer that reads it, in slices (step 2).
DEVICE void put_slices(const Level &to, const Wide &m, int row, int neuron, const double *grid) {
    double *out = to.outputs + (i64)row * (3 * to.slices * to.inputs) + neuron;
    UNROLL
    for (int c = 0; c < 3; c++) {
        double last = m.h[c];
        if (to.slices > 1) {
            double anchor = grid[c], first = (last + anchor) - anchor;
            last -= first;
            out[(to.slices - 1) * to.inputs] = first;
            if (to.slices == 3) {
                anchor *= to.deep->finer;
                double second = (last + anchor) - anchor;
                last -= second;
                out[to.inputs] = second;
            }
            last += m.l[c];
        }
        out[0] = last;
        out += to.slices * to.inputs;
    }
}

// What is known of a node's rows: anchors of their sums, bounds on the error of each and on the norm of all
// errors, and the grids of outputs.
struct Scale { double anchor[3], error[3], norm[3], grid[3]; };

// The sum of the norms of outputs (column c), or of their errors (3 + c), that a level reads but those of layer
// `except`, for a node of the level `at`.
DEVICE double all_known(const Engine &g, const Level &level, int at, int node, int c, int except) {
    double total = 0.0;
    ROLLED
    for (int s = 0; s < level.n_sources; s++) {
        int source = level.sources[s];
        if (source == except) continue;
        for (; at > source + 1; at--) node = g.levels[at - 1].first + g.levels[at].parent[node];
        total += g.levels[source].known[(i64)g.levels[at].parent[node] * 6 + c];
    }
    return total;
}

// The bound B for outputs that a level reads, as a power of two. It must not be so small that products underflow.
DEVICE double scale_above(double size) { return power_above(larger(size * INFLATE, 1e-60)); }

// Outputs of neurons that a level reads, in slices; see `gather`.
DEVICE void deep_gather(const Engine &g, const Level &level, int at, int first, int count, int skip) {
    Group group(32);
    for (int i = group.index; i < count; i += group.count) {
        int below = at;
        int node = first + i, offset = 0;
        double *scales = level.scales + 3 * (i64)i, grid[3];
        UNROLL
        for (int c = 0; c < 3; c++) {
            double scale = skip ? scales[c] : scale_above(all_known(g, level, at, node, c, 0));
            if (!skip && group.lane == 0) scales[c] = scale;
            grid[c] = scale * level.deep->grid;
        }
        for (int s = 0; s < level.n_sources; s++) {
            int source = level.sources[s];
            const Level &from = g.levels[source];
            if (s >= skip) {
                for (; below > source + 1; below--)
                    node = g.levels[below - 1].first + g.levels[below].parent[node];
                const u32 *pieces = g.levels[below].done + (i64)node * g.levels[below].done_words;
                const double *maps = from.maps + (i64)g.levels[below].parent[node] * (7 * from.width);
                for (int j = group.lane; j < from.width; j += group.size) {
                    Wide m;
                    UNROLL
                    for (int c = 0; c < 3; c++) {
                        m.h[c] = maps[c * from.width + j];
                        m.l[c] = maps[(4 + c) * from.width + j];
                    }
                    put_slices(level, deep_output(from, m, j, piece_of(g, pieces, j)), i, offset + j, grid);
                }
            }
            offset += from.width;
        }
    }
}

// Outputs of neurons that a level reads, as rows of a matrix product, from source number `skip` on: for the
// nodes of this level that were started on, or for `count` nodes of the level before it (`at`).
KERNEL gather(GIVEN Engine g, GIVEN Level level, int at, int first, int count, int skip) {
    Group group(32);
    if (at == level.index) count = (int)g.counters->open[0];
    if (g.deep) {
        deep_gather(g, level, at, first, count, skip);
        return;
    }
    for (int i = group.index; i < count; i += group.count) {
        int below = at;
        int node = first + i, offset = 0;
        for (int s = 0; s < level.n_sources; s++) {
            int source = level.sources[s];
            const Level &from = g.levels[source];
            if (s >= skip) {
                for (; below > source + 1; below--)
                    node = g.levels[below - 1].first + g.levels[below].parent[node];
                const u32 *pieces = g.levels[below].done + (i64)node * g.levels[below].done_words;
                int row = g.levels[below].parent[node];
                for (int j = group.lane; j < from.width; j += group.size) {
                    Line m = all_errors(g, from, before(g, from, row, j), j);
                    put_output(g, from, level, m, j, piece_of(g, pieces, j), i, offset);
                }
            }
            offset += from.width;
        }
    }
}

// --- rows of a layer on a node --------------------------------------------------------------------------

#define BATCH 32

// Lines of the layer before that differ from the reference, and what that does to the outputs.
struct Changes { Line by[BATCH]; int neuron[BATCH]; };

// The same with twice the digits.
struct DeepChanges { Wide by[BATCH]; int neuron[BATCH]; };

// The vertices of a node.
struct alignas(16) Vertex { double x, y, w, eps; };
struct Workspace { Changes changes; Vertex corners[MOST_CORNERS]; };
struct DeepWorkspace { DeepChanges changes; Scale scale; Vertex corners[MOST_CORNERS]; };

// What the rows of a node are made of: the product of its reference, which is the node itself or its parent
// with all lines that cross the parent on their negative sides; and then changes.
struct Reference { const double *product; const float *errors; const u32 *up; int parent, row, changes; };

DEVICE Reference reference_of(const Level &level, int node, int i, bool own) {
    int parent = level.parent[node], row = own ? i : parent;
    const u32 *up = level.up + (i64)node * level.up_words;
    Reference r = {level.products + (i64)row * (3 * level.width), level.errors + (i64)row * level.width, up, parent, row,
                   0};
    if (!own && level.after_last) r.changes = members(up, level.up_words);
    return r;
}

// How the outputs of the layer `from` change where a cell crosses one of its lines.
DEVICE Line change(const Engine &g, const Level &from, const Level &to, const Reference &r, int rank, int &neuron) {
    const u32 *crossing = from.crossing + (i64)r.parent * from.words;
    int line = member(crossing, rank);
    neuron = from.row[line];
    int piece = piece_of(g, from.sure + (i64)r.parent * from.piece_words, neuron);
    Line m = g.records[from.record[r.parent] + rank];
    if (!from.plain) {
        // Lines of one neuron follow each other.
        for (int k = rank - 1; k >= 0 && from.row[member(crossing, k)] == neuron; k--)
            piece += (int)(r.up[k / 32] >> (k & 31) & 1u);
        double at = from.at[line];
        m.error += 4.0 * ROUND * (fabs(m.c) + fabs(at));
        m.c += at;
    }
    Line low = output(g, from, to, m, neuron, piece), high = output(g, from, to, m, neuron, piece + 1);
    high.error += low.error + 4.0 * ROUND * size_of(low);
    high.a -= low.a;
    high.b -= low.b;
    high.c -= low.c;
    high.error += 4.0 * ROUND * (size_of(low) > 0.0 ? size_of(high) : 0.0);
    return high;
}

// The same with twice the digits.
DEVICE Wide deep_change(const Engine &g, const Level &from, const Reference &r, int rank, int &neuron) {
    const u32 *crossing = from.crossing + (i64)r.parent * from.words;
    int line = member(crossing, rank);
    i64 record = from.record[r.parent] + rank;
    const Line &high = g.records[record];
    const double *low = g.lows + 3 * record;
    Wide m = {{high.a, high.b, high.c}, {low[0], low[1], low[2]}};
    neuron = from.row[line];
    if (from.relu) return m;
    int piece = piece_of(g, from.sure + (i64)r.parent * from.piece_words, neuron);
    if (!from.plain) {
        // Lines of one neuron follow each other.
        for (int k = rank - 1; k >= 0 && from.row[member(crossing, k)] == neuron; k--)
            piece += (int)(r.up[k / 32] >> (k & 31) & 1u);
        double s, e;
        add(m.h[2], from.at[line], s, e);
        add(s, e + m.l[2], m.h[2], m.l[2]);
    }
    Wide old = deep_output(from, m, neuron, piece);
    m = deep_output(from, m, neuron, piece + 1);
    UNROLL
    for (int c = 0; c < 3; c++) {
        double s, e;
        add(m.h[c], -old.h[c], s, e);
        add(s, e + (m.l[c] - old.l[c]), m.h[c], m.l[c]);
    }
    return m;
}

DEVICE void find_changes(const Engine &g, const Level &from, const Level &to, const Group &group,
                         const Reference &r, int first, Changes &changes) {
    for (int k = group.lane; k < BATCH && first + k < r.changes; k += group.size)
        changes.by[k] = change(g, from, to, r, member(r.up, first + k), changes.neuron[k]);
    group.sync();
}

DEVICE void find_changes(const Engine &g, const Level &from, const Level &, const Group &group,
                         const Reference &r, int first, DeepChanges &changes) {
    for (int k = group.lane; k < BATCH && first + k < r.changes; k += group.size)
        changes.by[k] = deep_change(g, from, r, member(r.up, first + k), changes.neuron[k]);
    group.sync();
}

DEVICE void add_changes(const Engine &g, const Level &level, const Changes &changes, int n, int neuron, Line &m) {
    ROLLED
    for (int k = 0; k < n; k++) {
        double w = level.weights[(i64)changes.neuron[k] * level.width + neuron];
        m.a = fma(w, changes.by[k].a, m.a);
        m.b = fma(w, changes.by[k].b, m.b);
        m.c = fma(w, changes.by[k].c, m.c);
        if (g.exact) m.error = fma(fabs(w), changes.by[k].error, m.error);
    }
}

// The same by anchored sums (step 3): `m.h` begins as anchor + h.
DEVICE void add_changes(const Level &level, const DeepChanges &changes, int n, int neuron, Wide &m) {
    ROLLED
    for (int k = 0; k < n; k++) {
        double w = level.weights[(i64)changes.neuron[k] * level.width + neuron];
        UNROLL
        for (int c = 0; c < 3; c++) {
            double f = changes.by[k].h[c], sum = fma(w, f, m.h[c]);
            m.l[c] += fma(w, changes.by[k].l[c], fma(w, f, m.h[c] - sum));
            m.h[c] = sum;
        }
    }
}

struct Row { Line line; };
struct DeepRow { Line line; Wide wide; };

// A neuron before its activation, on a node. All lanes of a group call it together.
DEVICE Row row_of(const Engine &g, const Level &before, const Level &level, const Group &group, const Reference &r,
                  Workspace &work, int neuron) {
    Changes &changes = work.changes;
    int width = level.width;
    Line m = {0.0, 0.0, level.base[2 * width + neuron], 0.0};
    if (level.inputs) {
        m.a = r.product[neuron];
        m.b = r.product[width + neuron];
        m.c += r.product[2 * width + neuron];
        if (g.exact) m.error = (double)r.errors[neuron] * level.units[neuron];
    }
    if (level.from_input) {
        m.a += level.base[neuron];
        m.b += level.base[width + neuron];
        if (g.exact) m.error += level.base_error[neuron];
    }
    if (r.changes <= BATCH) {
        add_changes(g, level, changes, r.changes, neuron, m);
    } else {
        for (int first = 0; first < r.changes; first += BATCH) {
            group.sync();
            find_changes(g, before, level, group, r, first, changes);
            int left = r.changes - first;
            add_changes(g, level, changes, left < BATCH ? left : BATCH, neuron, m);
        }
    }
    // The bounds of the products leave room for a few more roundings.
    if (g.exact && r.changes > SPARE) {
        double more = (double)r.changes * (1.01 * ROUND) / level.gamma;
        m.error += more * (m.error + level.gamma * fabs(level.bias[neuron]));
    }
    Row row = {m};
    return row;
}

// What bounds the rows of a node (steps 3 and 4), and the grids for its outputs in the level `next`, if that reads
// them (step 2).
DEVICE void find_scale(const Engine &g, const Level &level, const Level *next, const Group &group, const Reference &r,
                       int node, int i, Scale &scale) {
    const Deep &d = *level.deep;
    const double *scales = level.scales + 3 * (i64)r.row;
    double changes = r.changes;
    for (int c = group.lane; c < 3; c += group.size) {
        double size = 0.0, error = d.base_error[c], norm = error, highest = 0.0;
        if (level.inputs) {
            size = all_known(g, level, level.index, node, c, 0);
            double rest = d.rest * (level.slices > 1 ? scales[c] : size);
            highest = power_above(1.01 * (d.base_most[c] + d.row * size * d.swing + rest) + 1e-60);
            double rounding = (d.terms + changes) * rest + (changes + 8.0) * (changes + 8.0) * (2.0 * ROUND) * highest;
            double below = all_known(g, level, level.index, node, 3 + c, 0);
            error = (d.row * below + ROUND * rounding + error) * INFLATE + TINY;
            norm = (d.norm * below + d.root * ROUND * rounding + norm) * INFLATE + TINY;
        }
        scale.anchor[c] = 3.0 * highest;
        scale.error[c] = error;
        scale.norm[c] = norm;
        if (next) {
            size = 1.01 * (d.norm * size + d.base_norm[c] + norm);
            size = 1.01 * (d.slope * size + d.intercept[c]);
            double above = scale_above(size + all_known(g, *next, level.index, node, c, level.index));
            next->scales[3 * (i64)i + c] = above;
            scale.grid[c] = above * next->deep->grid;
        }
    }
    group.sync();
}

// The same with twice the digits.
DEVICE DeepRow row_of(const Engine &g, const Level &before, const Level &level, const Group &group, const Reference &r,
                      DeepWorkspace &work, int neuron) {
    DeepChanges &changes = work.changes;
    const Scale &scale = work.scale;
    int width = level.width;
    DeepRow row;
    Wide &m = row.wide;
    UNROLL
    for (int c = 0; c < 3; c++) {
        m.h[c] = level.base[c * width + neuron];
        m.l[c] = level.base_low[c * width + neuron];
        if (level.inputs) {
            const double *product = r.product + c * width + neuron;
            double sum = product[0], rest = 0.0, more;
            if (level.slices > 1) add(sum, product[level.slice], sum, rest);
            if (level.slices > 2) rest += product[2 * level.slice];
            add(m.h[c], sum, m.h[c], more);
            m.l[c] = (m.l[c] + rest) + more;
        }
    }
    if (r.changes) {
        UNROLL
        for (int c = 0; c < 3; c++) {
            double sum = scale.anchor[c] + m.h[c];
            m.l[c] += m.h[c] - (sum - scale.anchor[c]);
            m.h[c] = sum;
        }
        if (r.changes <= BATCH) {
            add_changes(level, changes, r.changes, neuron, m);
        } else {
            for (int first = 0; first < r.changes; first += BATCH) {
                group.sync();
                find_changes(g, before, level, group, r, first, changes);
                int left = r.changes - first;
                add_changes(level, changes, left < BATCH ? left : BATCH, neuron, m);
            }
        }
        UNROLL
        for (int c = 0; c < 3; c++) m.h[c] -= scale.anchor[c];
    }
    double error = 0.0;
    UNROLL
    for (int c = 0; c < 3; c++) {
        add(m.h[c], m.l[c], m.h[c], m.l[c]);
        double bound = fabs(m.l[c]) + scale.error[c];
        error = error < bound || bound != bound ? bound : error;  // NaN stays
    }
    Line line = {m.h[0], m.h[1], m.h[2], error * INFLATE};
    row.line = line;
    return row;
}

DEVICE void keep_row(const Level &level, int i, int neuron, const Row &row) {
    double *maps = level.maps + (i64)i * (4 * level.width) + neuron;
    maps[0] = row.line.a;
    maps[level.width] = row.line.b;
    maps[2 * level.width] = row.line.c;
    maps[3 * level.width] = row.line.error;
}

DEVICE void keep_row(const Level &level, int i, int neuron, const DeepRow &row) {
    double *maps = level.maps + (i64)i * (7 * level.width) + neuron;
    UNROLL
    for (int c = 0; c < 3; c++) {
        maps[c * level.width] = row.wide.h[c];
        maps[(4 + c) * level.width] = row.wide.l[c];
    }
    maps[3 * level.width] = row.line.error;
}

// Squares of the rows of a node, added up.
struct Norms { double squares[3]; };

DEVICE void add_squares(const Row &, Norms &) {}
DEVICE void add_squares(const DeepRow &row, Norms &norms) {
    UNROLL
    for (int c = 0; c < 3; c++) norms.squares[c] = fma(row.wide.h[c], row.wide.h[c], norms.squares[c]);
}

// Keep the norms of a node's outputs, whatever their pieces, and of their errors: M and φ of step 1.
DEVICE void keep_known(const Level &level, const Group &group, const Norms &norms, const Scale &scale, int i) {
    const Deep &d = *level.deep;
    double squares[3];
    UNROLL
    for (int c = 0; c < 3; c++) squares[c] = group.sum(norms.squares[c]);
    for (int c = group.lane; c < 3; c += group.size) {
        double square = c == 0 ? squares[0] : (c == 1 ? squares[1] : squares[2]);
        double size = 1.01 * (d.slope * (sqrt(square) + 1e-140) + d.intercept[c]);
        level.known[(i64)i * 6 + c] = size;
        level.known[(i64)i * 6 + 3 + c] = (d.slope * scale.norm[c] + d.rounding * size + d.inexact[c]) * INFLATE;
    }
}

// Keep the rows of nodes that come from outside, from their own products.
KERNEL settle(GIVEN Engine g, GIVEN Level level, int count) {
    WORKSPACE(Workspace, work);
    Group group(32);
    for (int i = group.index; i < count; i += group.count) {
        Reference r = reference_of(level, i, i, true);
        for (int j = group.lane; j < level.width; j += group.size)
            keep_row(level, i, j, row_of(g, level, level, group, r, work, j));
    }
}

// The same with twice the digits.
KERNEL deep_settle(GIVEN Engine g, GIVEN Level level, int count) {
    WORKSPACE(DeepWorkspace, work);
    Group group(32);
    for (int i = group.index; i < count; i += group.count) {
        Reference r = reference_of(level, i, i, true);
        Norms norms = {{0.0, 0.0, 0.0}};
        find_scale(g, level, 0, group, r, i, i, work.scale);
        for (int j = group.lane; j < level.width; j += group.size) {
            DeepRow row = row_of(g, level, level, group, r, work, j);
            keep_row(level, i, j, row);
            add_squares(row, norms);
        }
        group.sync();
        keep_known(level, group, norms, work.scale, i);
        group.sync();
    }
}

// Polygons of cells that come from outside: labels of their edges, and which corners are rays.
KERNEL plant(GIVEN Engine g, GIVEN Level level, int count, const int *labels, const int *rays,
             const int *ends) {
    Group group(1);
    for (int i = group.index; i < count; i += group.count) {
        int start = i ? ends[i - 1] : 0, n = ends[i] - start;
        Corner *corners = g.corners + start;
        for (int k = 0; k < n; k++) {
            int label = labels[start + k];
            int line = (label < 0 ? -label : label) - 1;
            Line m;
            if (line < g.n_domain) {
                const double *row = g.domain + 3 * line;
                m.a = row[0];
                m.b = row[1];
                m.c = row[2];
                m.error = 0.0;
            } else {
                int from = level.index;
                while (line < g.levels[from].first_line) from--;
                // All levels keep the rows of these cells, in the same order.
                line -= g.levels[from].first_line;
                m = as_line<false>(g, g.levels[from], before(g, g.levels[from], i, g.levels[from].row[line]), line);
            }
            set_edge(corners[k], m, label > 0 ? 1.0 : -1.0);
            g.tags[start + k].label = label;
            g.tags[start + k].ray = rays[start + k];
        }
        for (int k = 0; k < n; k++) {
            meet(corners[k ? k - 1 : n - 1], corners[k], 1.0, corners[k]);
            if (!g.exact) corners[k].eps = g.tolerance;
        }
        level.start[i] = start;
        level.n[i] = n;
    }
}

// --- cells ------------------------------------------------------------------------------------------

// Whether nothing is added to the bias of a neuron, on a node: what it reads is exactly 0.
DEVICE bool is_bias(const Engine &, const Level &, const Row &row, int, int) { return row.line.error == 0.0; }
DEVICE bool is_bias(const Engine &g, const Level &level, const DeepRow &, int node, int neuron) {
    if (level.base_error[neuron] != 0.0) return false;
    const double *weights = level.weights + neuron;
    int at = level.index;
    for (int s = 0; s < level.n_sources; s++) {
        int source = level.sources[s];
        const Level &from = g.levels[source];
        for (; at > source + 1; at--) node = g.levels[at - 1].first + g.levels[at].parent[node];
        const u32 *pieces = g.levels[at].done + (i64)node * g.levels[at].done_words;
        ROLLED
        for (int j = 0; j < from.width; j++, weights += level.width) {
            if (*weights == 0.0) continue;
            int piece = j * from.pieces + piece_of(g, pieces, j);
            if (from.slopes[piece] != 0.0 || from.intercepts[piece] != 0.0) return false;
        }
    }
    return true;
}

template <class AnyRow>
DEVICE int look_closer(const Engine &g, const Level &level, const AnyRow &row, int line, int neuron, int node,
                       const Tag *tags, int n) {
    // Nothing was summed: the neuron is its bias, a float, and so is the breakpoint.
    const Line &m = row.line;
    if (m.a == 0.0 && m.b == 0.0 && is_bias(g, level, row, node, neuron))
        return m.c > level.at[line] ? POSITIVE : NEGATIVE;
    // A cell that comes from within the layer has edges on some of its lines.
    int label = level.first_line + line + 1;
    for (int i = 0; i < n; i++) {
        if (tags[i].label == label) return POSITIVE;
        if (tags[i].label == -label) return NEGATIVE;
    }
    return DOUBTFUL;
}

// A cell, with the rows of all lines that cross its node.
struct Cell { int node, start, n, words; const Line *lines; const u32 *up, *open; };

DEVICE void copy_words(const Group &group, const u32 *from, u32 *to, int n) {
    ROLLED
    for (int w = group.lane; w < n; w += group.size) to[w] = from[w];
}

DEVICE bool has(const u32 *set, int i) { return set[i / 32] >> (i & 31) & 1u; }

// Pieces of a cell of a node: those that are sure, and one more for each line that it lies above.
DEVICE void put_pieces(const Engine &g, const Level &level, const Group &group, const Cell &cell, u32 *pieces) {
    const u32 *sure = level.sure + (i64)cell.node * level.piece_words;
    const u32 *crossing = level.crossing + (i64)cell.node * level.words;
    if (!level.plain) {
        copy_words(group, sure, pieces, level.piece_words);
        group.sync();
    }
    int rank = 0;
    int w = 0;
    for (int mine = group.lane; mine < level.words; mine += group.size) {
        ROLLED
        for (; w < mine; w++) rank += ones(crossing[w]);
        u32 word = 0;
        int k = rank;
        for (u32 rest = crossing[mine]; rest; rest &= rest - 1, k++) {
            if (!has(cell.up, k)) continue;
            if (level.plain)
                word |= rest & (~rest + 1u);
            else
                add_piece(g, pieces, level.row[32 * mine + lowest(rest)]);
        }
        if (level.plain) pieces[mine] = sure[mine] | word;
    }
}

// The open lines of a cell as lines of the layer.
DEVICE void put_open(const Level &level, const Group &group, const Cell &cell, u32 *open) {
    const u32 *crossing = level.crossing + (i64)cell.node * level.words;
    int rank = 0;
    for (int w = 0; w < level.words; w++) {
        u32 word = 0;
        for (u32 rest = crossing[w]; rest; rest &= rest - 1, rank++)
            if (has(cell.open, rank)) word |= rest & (~rest + 1u);
        if (group.lane == 0) open[w] = word;
    }
}

// Hand a cell to exact arithmetic.
DEVICE void hand_out(const Engine &g, const Level &level, const Group &group, const Cell &cell) {
    i64 slot = 0;
    if (group.lane == 0) slot = (i64)take(&g.counters->unsure, (u64)1);
    slot = group.first(slot);
    if (slot >= g.room) {
        g.counters->overflow = 1;
        return;
    }
    if (group.lane == 0) {
        g.unsure.node[slot] = (int)cell.node;
        g.unsure.start[slot] = cell.start;
        g.unsure.n[slot] = cell.n;
    }
    put_pieces(g, level, group, cell, g.unsure.pieces + slot * level.piece_words);
    put_open(level, group, cell, g.unsure.open + slot * level.words);
}

// All lines are decided: the cell becomes a node of the next level.
DEVICE void finish(const Engine &g, const Level &level, const Level &next, const Group &group,
                   const Cell &cell) {
    i64 slot = 0;
    if (group.lane == 0) slot = (i64)take(&g.counters->nodes, (u64)1);
    slot = group.first(slot);
    if (slot >= next.capacity) {
        g.counters->overflow = 1;
        return;
    }
    if (group.lane == 0) {
        next.parent[slot] = (int)cell.node;
        next.start[slot] = cell.start;
        next.n[slot] = cell.n;
    }
    put_pieces(g, level, group, cell, next.done + slot * level.piece_words);
    u32 *up = next.up + slot * level.words;
    for (int w = group.lane; w < level.words; w += group.size) up[w] = w < cell.words ? cell.up[w] : 0;
}

// --- one warp per node: which lines cross it? --------------------------------------------------------------

// The same as `side`; mostly all corners lie on one side, by more than the largest error bound of them all.
DEVICE int quick_side(const Line &m, const Vertex *corners, int n, double eps) {
    double first = value(m, corners[0]), b = bound(m, size_of(m), eps);
    bool below = first < 0.0, sure = fabs(first) > b;
    Line up = {below ? -m.a : m.a, below ? -m.b : m.b, below ? -m.c : m.c, 0.0};
    ROLLED
    for (int i = 1; i < n; i++) sure &= value(up, corners[i]) > b;
    return sure ? (below ? NEGATIVE : POSITIVE) : side(m, corners, n);
}

template <bool plain> DEVICE void put_low(const Engine &, const Level &, i64, int, const Row &) {}

// Keep the low parts of a line.
template <bool plain>
DEVICE void put_low(const Engine &g, const Level &level, i64 record, int line, const DeepRow &row) {
    double *low = g.lows + 3 * record, c = row.wide.l[2];
    if (!plain) {
        double sum, rest;
        add(row.wide.h[2], -level.at[line], sum, rest);  // the sum is the line's coefficient
        c += rest;
    }
    low[0] = row.wide.l[0];
    low[1] = row.wide.l[1];
    low[2] = c;
}

// Write an output of a neuron for the next layer.
DEVICE void put_next(const Engine &g, const Level &level, const Level &next, const Workspace &, const Row &,
                     const Line &m, int neuron, int piece, int i) {
    put_output(g, level, next, m, neuron, piece, i, 0);
}
DEVICE void put_next(const Engine &g, const Level &level, const Level &next, const DeepWorkspace &work,
                     const DeepRow &row, const Line &, int neuron, int piece, int i) {
    put_slices(next, deep_output(level, row.wide, neuron, piece), i, neuron, work.scale.grid);
}

// What is done before and after the rows of a node.
DEVICE void begin_rows(const Engine &, const Level &, const Level *, const Group &, const Reference &, int, int,
                       Workspace &) {}
DEVICE void begin_rows(const Engine &g, const Level &level, const Level *next, const Group &group, const Reference &r,
                       int node, int i, DeepWorkspace &work) {
    find_scale(g, level, next, group, r, node, i, work.scale);
}
DEVICE void end_rows(const Level &, const Group &, const Norms &, const Workspace &, int) {}
DEVICE void end_rows(const Level &level, const Group &group, const Norms &norms, const DeepWorkspace &work, int i) {
    keep_known(level, group, norms, work.scale, i);
}

// Keep the rows of the lines that cross a node. False if there is no room.
template <bool plain, class Work>
DEVICE bool put_records(const Engine &g, const Level &before, const Level &level, const Group &group,
                        const Reference &r, Work &work, int i, int k) {
    u64 at = 0;
    if (group.lane == 0) at = take(&g.counters->records, (u64)k);
    at = group.first(at);
    if ((i64)at + k > g.most_records) {
        g.counters->overflow = 1;
        return false;
    }
    const u32 *crossing = level.crossing + (i64)i * level.words;
    for (int from = 0; from < k; from += group.size) {
        int rank = from + group.lane;
        int line = member(crossing, rank < k ? rank : k - 1), neuron = plain ? line : level.row[line];
        auto row = row_of(g, before, level, group, r, work, neuron);
        if (rank < k) {
            g.records[at + rank] = as_line<plain>(g, level, row.line, line);
            put_low<plain>(g, level, (i64)at + rank, line, row);
        }
    }
    if (group.lane == 0) level.record[i] = (int)at;
    return true;
}

// Pieces of the neurons that do not bend in a node, the lines that cross it, and the outputs of its layer with
// all of these on their negative sides. Nodes that no line crosses are finished at once.
template <bool plain, class Work>
DEVICE void scan_nodes(const Engine &g, const Level &before, const Level &level, const Level &next, int first, int own,
                       int most_kept, Work &work) {
    const Cells &out = g.cells[0];
    bool only_count = level.index == g.depth && !g.store;
    bool hand_on = next.after_last;
    const Level *reader = hand_on ? &next : 0;
    int count = (int)g.counters->open[0];
    bool keep = count <= most_kept;
    Group group(32);
    u64 tests = 0, found = 0;
    for (int i = group.index; i < count; i += group.count) {
        int start = level.start[first + i], n = level.n[first + i], k = 0;
        const Corner *corners = g.corners + start;
        u32 *pieces = level.sure + (i64)i * level.piece_words, *lines = level.crossing + (i64)i * level.words;
        Reference r = reference_of(level, first + i, i, own);
        Norms norms = {{0.0, 0.0, 0.0}};
        begin_rows(g, level, reader, group, r, first + i, i, work);
        if (r.changes <= BATCH) find_changes(g, before, level, group, r, 0, work.changes);
        if (!plain) {
            for (int w = group.lane; w < level.piece_words; w += group.size) pieces[w] = 0;
            group.sync();
        }
        u32 unsure = n > MOST_CORNERS;
        ROLLED
        for (int j = group.lane; j < n && !unsure; j += group.size) {
            Vertex p = {corners[j].x, corners[j].y, corners[j].w, corners[j].eps};
            work.corners[j] = p;
        }
        group.sync();
        double eps = 0.0;
        ROLLED
        for (int j = 0; j < n && !unsure; j++) eps = fmax(eps, work.corners[j].eps);
        SetWriter open_set(lines), positive_set(pieces);
        int last = level.lines - 1;
        for (int from = 0; from <= last; from += group.size) {
            int here = from + group.lane, line = here < last ? here : last;
            int neuron = plain ? line : level.row[line];
            auto row = row_of(g, before, level, group, r, work, neuron);
            const Line &m = row.line;
            Line whole = as_line<plain>(g, level, m, line);
            int seen = n > MOST_CORNERS ? side(whole, corners, n) : quick_side(whole, work.corners, n, eps);
            if (seen != CROSSES && (seen & DOUBTFUL)) {
                if (g.exact)
                    seen = look_closer(g, level, row, line, neuron, first + i, g.tags + start, n);
                else
                    seen &= CROSSES;
            }
            bool there = here <= last, positive = there && seen == POSITIVE;
            bool open = there && (seen == CROSSES || seen == DOUBTFUL);
            if (there && plain) {
                if (keep) keep_row(level, i, line, row);
                // The breakpoint is 0, so the line is the neuron, and its bound has all errors.
                if (hand_on) put_next(g, level, next, work, row, whole, line, positive, i);
                add_squares(row, norms);
            }
            if (positive && !plain) add_piece(g, pieces, neuron);
            if (there) unsure |= seen & DOUBTFUL;
            k += open_set.put(group, open, from);
            if (plain) positive_set.put(group, positive, from);
        }
        open_set.end(group, level.lines);
        if (plain) positive_set.end(group, level.lines);
        unsure = group.either(unsure);
        group.sync();
        if (!plain && (keep || hand_on)) {
            for (int from = 0; from < level.width; from += group.size) {
                int j = from + group.lane, neuron = j < level.width ? j : level.width - 1;
                auto row = row_of(g, before, level, group, r, work, neuron);
                if (j >= level.width) continue;
                if (keep) keep_row(level, i, j, row);
                Line m = all_errors(g, level, row.line, j);
                if (hand_on) put_next(g, level, next, work, row, m, j, piece_of(g, pieces, j), i);
                add_squares(row, norms);
            }
        }
        if (keep || hand_on) end_rows(level, group, norms, work, i);
        bool done = !unsure && (only_count ? k <= 1 : k == 0);
        bool fits = done || k == 0 || put_records<plain>(g, before, level, group, r, work, i, k);
        if (group.lane == 0) {
            level.crossings[i] = k;
            out.node[i] = (int)i;
            out.start[i] = start;
            out.n[i] = done || !fits ? 0 : n | (unsure ? UNSURE : 0);
            found += done && only_count ? 1 + k : 0;
            tests += (u64)(n * level.lines);
        }
        if (done && !only_count) {
            Cell cell = {i, start, n, 0, 0, 0, 0};
            finish(g, level, next, group, cell);
        } else if (!done) {
            for (int w = group.lane; 32 * w < k; w += group.size) {
                out.up[(i64)i * level.words + w] = 0;
                out.open[(i64)i * level.words + w] = k - 32 * w >= 32 ? ~0u : (1u << (k - 32 * w)) - 1u;
            }
        }
        group.sync();
    }
    if (found) take(&g.counters->found, found);
    if (tests) take(&g.counters->tests, tests);
}

// The number of nodes is the one that was started on. Their rows are kept if they are not too many.
LIGHT_KERNEL scan(GIVEN Engine g, GIVEN Level before, GIVEN Level level, GIVEN Level next, int first, int own,
                  int most_kept) {
    WORKSPACE(Workspace, work);
    scan_nodes<false>(g, before, level, next, first, own, most_kept, work);
}

// The same for layers whose neurons all have one breakpoint, 0.
LIGHT_KERNEL scan_plain(GIVEN Engine g, GIVEN Level before, GIVEN Level level, GIVEN Level next, int first, int own,
                        int most_kept) {
    WORKSPACE(Workspace, work);
    scan_nodes<true>(g, before, level, next, first, own, most_kept, work);
}

// The same with twice the digits.
DEEP_KERNEL deep_scan(GIVEN Engine g, GIVEN Level before, GIVEN Level level, GIVEN Level next, int first, int own,
                      int most_kept) {
    WORKSPACE(DeepWorkspace, work);
    scan_nodes<false>(g, before, level, next, first, own, most_kept, work);
}

DEEP_KERNEL deep_scan_plain(GIVEN Engine g, GIVEN Level before, GIVEN Level level, GIVEN Level next, int first, int own,
                            int most_kept) {
    WORKSPACE(DeepWorkspace, work);
    scan_nodes<true>(g, before, level, next, first, own, most_kept, work);
}

// --- cutting ------------------------------------------------------------------------------------------

// Where a line meets the boundary of a cell: signs at the corners as bits, first and last corner on either
// side, and the two new vertices.
struct Cut {
    u64 positive, negative;
    int a, b, c, e;       // a … b are the positive corners, c … e the negative ones
    int into, after;      // the edges that are cut begin at `into` and b; `after` follows b
    Corner enter, leave;  // with the row of the cut as their edge
    int enter_ray, leave_ray;
};

DEVICE u64 following(u64 set, int n) { return (set >> 1 | set << (n - 1)) & (((u64)1 << n) - 1); }
DEVICE u64 preceding(u64 set, int n) { return (set << 1 | set >> (n - 1)) & (((u64)1 << n) - 1); }

// False if the signs do not make one run of each kind.
DEVICE bool find_runs(Cut &cut, int n) {
    u64 starts = cut.positive & ~preceding(cut.positive, n);
    u64 falls = cut.negative & ~preceding(cut.negative, n);
    if (ones(starts) != 1 || ones(falls) != 1) return false;
    cut.a = lowest(starts);
    cut.b = lowest(cut.positive & ~following(cut.positive, n));
    cut.c = lowest(falls);
    cut.e = lowest(cut.negative & ~following(cut.negative, n));
    cut.into = cut.a ? cut.a - 1 : n - 1;
    cut.after = cut.b + 1 < n ? cut.b + 1 : 0;
    return true;
}

DEVICE void find_ends(const Engine &g, const Line &m, const Corner *corners, const Tag *tags, Cut &cut) {
    u64 both = cut.positive | cut.negative;
    set_edge(cut.enter, m, 1.0);
    copy_edge(cut.enter, cut.leave);
    const Corner &into = corners[cut.into], &after = corners[cut.after];
    const Corner &a = corners[cut.a], &b = corners[cut.b];
    if (!(both >> cut.into & 1)) {
        copy_vertex(into, cut.enter);
        cut.enter_ray = tags[cut.into].ray;
    } else {
        if (g.exact)
            meet(cut.enter, into, 1.0, cut.enter);
        else
            between(into, value(m, into), a, value(m, a), g.tolerance, cut.enter);
        cut.enter_ray = tags[cut.into].ray & tags[cut.a].ray;
    }
    if (!(both >> cut.after & 1)) {
        copy_vertex(after, cut.leave);
        cut.leave_ray = tags[cut.after].ray;
    } else {
        if (g.exact)
            meet(cut.leave, b, -1.0, cut.leave);
        else
            between(b, value(m, b), after, value(m, after), g.tolerance, cut.leave);
        cut.leave_ray = tags[cut.b].ray & tags[cut.after].ray;
    }
}

DEVICE bool all_certain(const Cut &cut, int n) {
    return (cut.positive | cut.negative) == ((u64)1 << n) - 1;
}

// Signs of a line at all corners, by one lane.
DEVICE void find_signs(const Line &m, const Corner *corners, int n, Cut &cut) {
    double size = size_of(m);
    cut.positive = cut.negative = 0;
    ROLLED
    for (int i = 0; i < n; i++) {
        double s = value(m, corners[i]), b = bound(m, size, corners[i].eps);
        if (s > b) cut.positive |= (u64)1 << i;
        if (s < -b) cut.negative |= (u64)1 << i;
    }
}

// The number of parts into which k lines cut a cell: 1 + k + the number of pairs that cross in it, if no three
// of them meet in one point there. 0 if something is in doubt.
DEVICE int count_parts(const Engine &g, const Group &group, const Cell &cell, int k) {
    const Corner *corners = g.corners + cell.start;
    u32 pairs = 0, doubt = 0;
    for (int i = group.lane; i < k; i += group.size) {
        Line m = cell.lines[member(cell.open, i)];
        Cut cut;
        find_signs(m, corners, cell.n, cut);
        if (!all_certain(cut, cell.n) || !find_runs(cut, cell.n)) {
            doubt = 1;
            break;
        }
        find_ends(g, m, corners, g.tags + cell.start, cut);
        u32 crossing = 0;
        for (int j = i + 1; j < k; j++) {
            int ends = pair(cell.lines[member(cell.open, j)], cut.enter, cut.leave);
            doubt |= ends == 0;
            if (ends == CROSSES) crossing |= 1u << j;
        }
        pairs += ones(crossing);
        // Three lines in one point would be a pair too many: no later line may pass through a crossing.
        for (u32 rest = crossing; rest & (rest - 1);) {
            int j = lowest(rest);
            rest &= rest - 1;
            Corner other, point;
            set_edge(other, cell.lines[member(cell.open, j)], 1.0);
            meet(cut.enter, other, 1.0, point);
            if (!g.exact) point.eps = g.tolerance;
            for (u32 others = rest; others; others &= others - 1) {
                Line third = cell.lines[member(cell.open, lowest(others))];
                doubt |= !(fabs(value(third, point)) > bound(third, size_of(third), point.eps));
            }
        }
    }
    if (group.either(doubt)) return 0;
    return 1 + k + (int)group.sum((double)pairs);
}

// Write the two halves of a cell to `at`: first the positive one.
DEVICE void write_halves(const Engine &g, const Group &group, const Cell &cell, const Cut &cut, int label,
                         i64 at, int np, int nn) {
    const Corner *old = g.corners + cell.start;
    const Tag *old_tags = g.tags + cell.start;
    u64 zero = ~(cut.positive | cut.negative);
    int n = cell.n;
    int before_c = cut.c ? cut.c - 1 : n - 1, after_e = cut.e + 1 < n ? cut.e + 1 : 0;
    for (int j = group.lane; j < np + nn; j += group.size) {
        Corner p;
        Tag tag;
        bool upper = j < np;
        int k = upper ? j : j - np, last = upper ? np - 1 : nn - 1;
        if (k > 0 && k < last) {
            int i = (upper ? cut.a : cut.c) + k - 1;
            i = i < n ? i : i - n;
            p = old[i];
            tag = old_tags[i];
        } else if (upper && k == 0) {
            p = old[cut.into];
            copy_vertex(cut.enter, p);
            tag.label = old_tags[cut.into].label;
            tag.ray = cut.enter_ray;
        } else if (upper) {
            p = cut.leave;
            tag.label = label;
            tag.ray = cut.leave_ray;
        } else if (k == 0) {
            if (zero >> before_c & 1) {
                p = old[before_c];
                tag = old_tags[before_c];
            } else {
                p = old[cut.b];
                copy_vertex(cut.leave, p);
                tag.label = old_tags[cut.b].label;
                tag.ray = cut.leave_ray;
            }
        } else {
            p = cut.enter;
            tag.ray = cut.enter_ray;
            if (zero >> after_e & 1) {
                copy_vertex(old[after_e], p);
                tag.ray = old_tags[after_e].ray;
            }
            p.a = -p.a;
            p.b = -p.b;
            p.c = -p.c;
            tag.label = -label;
        }
        g.corners[at + j] = p;
        g.tags[at + j] = tag;
    }
}

// Whether a corner from number a to b, both included, lies surely on a side of a line.
DEVICE bool reaches(const Line &m, int wanted, const Corner *corners, int n, int a, int b) {
    double size = size_of(m), sign = wanted == POSITIVE ? 1.0 : -1.0;
    bool found = false;
    for (int i = a;; i = i + 1 < n ? i + 1 : 0) {
        found = found || sign * value(m, corners[i]) > bound(m, size, corners[i].eps);
        if (i == b) return found;
    }
}

// Sides of a line that crosses a cell for its two halves, which begin at p.
DEVICE void sides_of_halves(const Line &m, const Cut &cut, const Corner *old, int n, const Corner *p, int np, int nn,
                            int &up, int &down) {
    int ends = pair(m, cut.enter, cut.leave);
    if (ends == CROSSES) {
        up = down = CROSSES;
    } else if (ends == 0) {
        up = side(m, p, np);
        down = side(m, p + np, nn);
    } else {
        // It does not meet the cut, so it crosses exactly one half; the other lies on the side of the cut.
        bool here = reaches(m, CROSSES - ends, old, n, cut.a, cut.b);
        up = here ? CROSSES : ends;
        down = here ? ends : CROSSES;
    }
}

// Hand the open lines of a cell down to its halves, in two slots of the next list.
DEVICE void hand_down(const Engine &g, const Level &level, const Group &group, const Cell &cell, int line,
                      const Cut &cut, const Cells &out, i64 slot, i64 at, int np, int nn) {
    u32 *up_up = out.up + slot * level.words, *down_up = up_up + level.words;
    u32 *up_open = out.open + slot * level.words, *down_open = up_open + level.words;
    u32 up_unsure = np > MOST_CORNERS, down_unsure = nn > MOST_CORNERS;
    int turn = 0;
    for (int w = 0; w < cell.words; w++) {
        u32 open = cell.open[w], mine = 0;  // open above and below, above those
        u32 up_word = 0, down_word = 0, up_above = 0, down_above = 0;
        if (w == line / 32) {
            mine = 1u << (line & 31);
            open &= ~mine;
        }
        int n = ones(open), up, down;
        // Lanes take turns, from word to word.
        for (int rank = (group.lane - turn) & (group.size - 1); rank < n; rank += group.size) {
            int other = nth(open, rank);
            u32 bit = 1u << other;
            sides_of_halves(cell.lines[32 * w + other], cut, g.corners + cell.start, cell.n, g.corners + at, np, nn, up,
                            down);
            if (!g.exact) {
                up &= CROSSES;
                down &= CROSSES;
            }
            if (up == CROSSES || up & DOUBTFUL)
                up_word |= bit;
            else if (up == POSITIVE)
                up_above |= bit;
            if (down == CROSSES || down & DOUBTFUL)
                down_word |= bit;
            else if (down == POSITIVE)
                down_above |= bit;
            up_unsure |= up & DOUBTFUL;
            down_unsure |= down & DOUBTFUL;
        }
        turn += n;
        if (n) {
            up_word = group.either(up_word);
            down_word = group.either(down_word);
            up_above = group.either(up_above);
            down_above = group.either(down_above);
        }
        if (group.lane == 0) {
            u32 above = cell.up[w];
            up_open[w] = up_word;
            down_open[w] = down_word;
            up_up[w] = above | up_above | mine;
            down_up[w] = above | down_above;
        }
    }
    up_unsure = group.either(up_unsure);
    down_unsure = group.either(down_unsure);
    if (group.lane == 0) {
        out.node[slot] = out.node[slot + 1] = (int)cell.node;
        out.start[slot] = (int)at;
        out.start[slot + 1] = (int)at + np;
        out.n[slot] = np | (up_unsure ? UNSURE : 0);
        out.n[slot + 1] = nn | (down_unsure ? UNSURE : 0);
    }
}

// Float arithmetic: rounding made nonsense of a line that barely touches the cell; it does not cross.
DEVICE void drop_line(const Engine &g, const Level &level, const Group &group, const Cell &cell, int line,
                      double total, const Cells &out, u64 *open) {
    u64 slot = 0;
    if (group.lane == 0) slot = take(open, (u64)1);
    slot = group.first(slot);
    if ((i64)slot >= g.room) {
        g.counters->overflow = 1;
        return;
    }
    u32 *up = out.up + slot * level.words, *lines = out.open + slot * level.words;
    copy_words(group, cell.up, up, cell.words);
    copy_words(group, cell.open, lines, cell.words);
    group.sync();
    if (group.lane == 0) {
        u32 bit = 1u << (line & 31);
        if (total > 0.0) up[line / 32] |= bit;
        lines[line / 32] &= ~bit;
        out.node[slot] = (int)cell.node;
        out.start[slot] = cell.start;
        out.n[slot] = cell.n;
    }
}

// Cut a cell by one of its open lines. Returns whether it was.
DEVICE bool split(const Engine &g, const Level &level, const Group &group, const Cell &cell, int k,
                  const Cells &out, u64 *open) {
    int line = member(cell.open, k / 2);
    Line m = cell.lines[line];
    const Corner *corners = g.corners + cell.start;
    double size = size_of(m), total = 0.0;
    Cut cut;
    cut.positive = cut.negative = 0;
    for (int i = group.lane; i < cell.n; i += group.size) {
        double s = value(m, corners[i]), b = bound(m, size, corners[i].eps);
        if (s > b) cut.positive |= (u64)1 << i;
        if (s < -b) cut.negative |= (u64)1 << i;
        if (s > b || s < -b) total += s;
    }
    cut.positive = group.either(cut.positive);
    cut.negative = group.either(cut.negative);
    bool fine = find_runs(cut, cell.n);
    if (g.exact && !(fine && all_certain(cut, cell.n))) {
        hand_out(g, level, group, cell);
        return false;
    }
    if (!fine) {
        drop_line(g, level, group, cell, line, group.sum(total), out, open);
        return false;
    }
    find_ends(g, m, corners, g.tags + cell.start, cut);
    int np = ones(cut.positive) + 2, nn = ones(cut.negative) + 2;
    u64 at = 0, slot = 0;
    if (group.lane == 0) {
        at = take(&g.counters->arena, (u64)(np + nn));
        slot = take(open, (u64)2);
    }
    at = group.first(at);
    slot = group.first(slot);
    if ((i64)at + np + nn > g.arena || (i64)slot + 2 > g.room) {
        g.counters->overflow = 1;
        for (i64 k = (i64)slot; group.lane == 0 && k < (i64)slot + 2 && k < g.room; k++) out.n[k] = 0;
        return false;
    }
    int label = level.first_line + member(level.crossing + (i64)cell.node * level.words, line) + 1;
    write_halves(g, group, cell, cut, label, (i64)at, np, nn);
    group.sync();
    hand_down(g, level, group, cell, line, cut, out, (i64)slot, (i64)at, np, nn);
    return true;
}

// One round: every cell of a list is finished, counted, handed out, or cut in two for the next list.
DEVICE void cut_cells(const Engine &g, const Level &level, const Level &next, const Group &group, int round,
                      int count) {
    Counters &counters = *g.counters;
    const Cells &in = g.cells[round & 1], &out = g.cells[(round + 1) & 1];
    u64 *open = &counters.open[(round + 1) & 3];
    bool only_count = level.index == g.depth && !g.store;
    u64 found = 0, splits = 0, tests = 0;
    for (int i = group.index; i < count; i += group.count) {
        int n = in.n[i];
        if (n == 0) continue;
        int node = in.node[i];
        Cell cell = {node, in.start[i], n & ~UNSURE, (level.crossings[node] + 31) / 32,
                     g.records + level.record[node], in.up + (i64)i * level.words, in.open + (i64)i * level.words};
        if (n & UNSURE) {
            hand_out(g, level, group, cell);
            continue;
        }
        int k = members(cell.open, cell.words);
        if (only_count && k <= MOST_PAIRS) {
            int parts = k <= 1 ? 1 + k : count_parts(g, group, cell, k);
            found += (u64)parts;
            if (parts) continue;
        }
        if (k == 0) {
            finish(g, level, next, group, cell);
            continue;
        }
        splits += split(g, level, group, cell, k, out, open);
        tests += (u64)(n + (k - 1) * (n + 4));
    }
    if (group.lane == 0) {
        if (found) take(&counters.found, found);
        if (splits) take(&counters.splits, splits);
        if (tests) take(&counters.tests, tests);
    }
}

// Round after round, until no cell is left. A list that overflows is cut short: all is done again then.
KERNEL cut(GIVEN Engine g, GIVEN Level level, GIVEN Level next) {
    Counters &counters = *g.counters;
    Everyone everyone;
    for (int round = 0;; round++) {
        u64 open = counters.open[round & 3];
        if (open == 0) return;
        int count = (int)((i64)open < g.room ? (i64)open : g.room);
        // The fewer cells, the more lanes for each.
        int lanes = 32 * count <= everyone.threads ? 32 : (4 * count <= everyone.threads ? 8 : 4);
        cut_cells(g, level, next, Group(lanes), round, count);
        if (Group(1).index == 0) counters.open[(round + 2) & 3] = 0;
        everyone.meet(&counters.arrived);
    }
}

// --- what comes out ----------------------------------------------------------------------------------

// Patterns of nodes of a level: the pieces of all layers before it, packed. `nodes` may be 0: all of them.
KERNEL patterns(GIVEN Engine g, int at, int first, int count, const int *nodes, u32 *out, int words) {
    Group group(8);
    for (int i = group.index; i < count; i += group.count) {
        u32 *to = out + (i64)i * words;
        for (int w = group.lane; w < words; w += group.size) to[w] = 0;
        group.sync();
        int node = first + (nodes ? nodes[i] : i);
        for (int below = at; below > 1; below--) {
            const Level &pool = g.levels[below], &layer = g.levels[below - 1];
            const u32 *from = pool.done + (i64)node * pool.done_words;
            int begin = layer.first_neuron * g.bits, end = begin + layer.width * g.bits;
            int shift = begin & 31;
            for (int w = begin / 32 + group.lane; 32 * w < end; w += group.size) {
                int k = w - begin / 32;  // word k, and the upper part of the word before it
                u32 word = k < pool.done_words ? from[k] << shift : 0;
                if (shift && k > 0) word |= from[k - 1] >> (32 - shift);
                to[w] |= word;
            }
            group.sync();
            node = layer.first + pool.parent[node];
        }
    }
}

// Geometry of finished regions. A region whose witness is not surely inside, or with a vertex that is not
// sharp, is marked as not `good`.
KERNEL emit(GIVEN Engine g, GIVEN Level pool, int first, int count, const i64 *ends, double *witnesses,
            double *areas, unsigned char *bounded, unsigned char *good, double *vertices, int *lines) {
    Group group(1);
    for (int i = group.index; i < count; i += group.count) {
        const Corner *p = g.corners + pool.start[first + i];
        const Tag *tags = g.tags + pool.start[first + i];
        int n = pool.n[first + i], finite = 0;
        double *v = vertices + 3 * (ends[i] - n);
        int *names = lines + (ends[i] - n);
        double x = 0.0, y = 0.0, ray_x = 0.0, ray_y = 0.0, area = 0.0;
        bool sharp = true;
        for (int k = 0; k < n; k++) {
            bool ray = tags[k].ray != 0;
            double w = ray ? 1.0 : p[k].w;
            double vx = p[k].x / w, vy = p[k].y / w;
            if (ray) {
                ray_x += vx;
                ray_y += vy;
            } else {
                x += vx;
                y += vy;
                finite++;
                sharp = sharp && p[k].eps < SHARP * w;
            }
            v[3 * k] = vx / g.scale_x;
            v[3 * k + 1] = vy / g.scale_y;
            v[3 * k + 2] = ray ? 0.0 : 1.0;
            names[k] = (tags[k].label < 0 ? -tags[k].label : tags[k].label) - 1;
            if (k > 1) {
                double ax = v[3 * k - 3] - v[0], ay = v[3 * k - 2] - v[1];
                area += 0.5 * (ax * (v[3 * k + 1] - v[1]) - ay * (v[3 * k] - v[0]));
            }
        }
        x = x / finite + ray_x;
        y = y / finite + ray_y;
        for (int k = 0; g.exact && k < n; k++) {
            double a = p[k].a * x, b = p[k].b * y, c = p[k].c;
            double error = p[k].eta * (fabs(x) + fabs(y) + 1.0) * INFLATE;
            error += 8.0 * ROUND * (fabs(a) + fabs(b) + fabs(c));
            sharp = sharp && a + b + c > error;
        }
        bool fine = !g.exact || sharp;
        witnesses[2 * i] = x / g.scale_x;
        witnesses[2 * i + 1] = y / g.scale_y;
        bounded[i] = finite == n;
        areas[i] = finite == n ? area : g.infinity;
        good[i] = fine;
        if (!fine) take(&g.counters->blunt, (u64)1);
    }
}
