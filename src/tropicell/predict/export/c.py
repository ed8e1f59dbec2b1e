"""The piecewise-affine function as plain C99: tables and a loop, for small controllers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import path_of
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import Matrix
from tropicell.network.activations import Activation
from tropicell.network.network import Network
from tropicell.predict.cut_tree import CutTree, largest_size, single_precision, split_domain
from tropicell.regions.given import as_regions
from tropicell.regions.regions import Regions

# --- which names a function in C can have ---------------------------------------------------------

#: Keywords of C99, C11 and C23, and those that compilers add. The others begin with an underscore.
_KEYWORDS = """
    alignas alignof asm auto bool break case char const constexpr continue default do double
    else enum extern false float for fortran goto if inline int long nullptr register restrict
    return short signed sizeof static static_assert struct switch thread_local true typedef
    typeof typeof_unqual union unsigned void volatile while
"""

#: Functions of <math.h> and <complex.h>, each of which there is with f and l at its end too.
_MATHEMATICS = """
    acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi canonicalize cbrt ceil
    compoundn copysign cos cosh cospi erf erfc exp exp10 exp10m1 exp2 exp2m1 expm1 fabs fdim
    floor fma fmax fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmin fminimum
    fminimum_mag fminimum_mag_num fminimum_num fmod frexp fromfp fromfpx getpayload hypot ilogb
    ldexp lgamma llogb llrint llround log log10 log10p1 log1p log2 log2p1 logb logp1 lrint
    lround modf nan nearbyint nextafter nextdown nexttoward nextup pow pown powr remainder
    remquo rint rootn round roundeven rsqrt scalbln scalbn setpayload setpayloadsig sin sinh
    sinpi sqrt tan tanh tanpi tgamma totalorder totalordermag trunc ufromfp ufromfpx cabs cacos
    cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal csin
    csinh csqrt ctan ctanh
"""

#: Other names of the standard library, which are reserved whatever a file includes; and main.
_LIBRARY = """
    main abort abs aligned_alloc asctime asctime_r at_quick_exit atexit atof atoi atol atoll
    bsearch btowc c16rtomb c32rtomb c8rtomb call_once calloc clearerr clock cnd_broadcast
    cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait ctime ctime_r daddl ddivl dfmal
    difftime div dmull dsqrtl dsubl errno exit fadd faddl fclose fdiv fdivl feclearexcept
    fegetenv fegetexceptflag fegetmode fegetround feholdexcept feof feraiseexcept ferror
    fesetenv fesetexcept fesetexceptflag fesetmode fesetround fetestexcept fetestexceptflag
    feupdateenv ffma ffmal fflush fgetc fgetpos fgets fgetwc fgetws fmul fmull fopen fprintf
    fputc fputs fputwc fputws fread free free_aligned_sized free_sized freopen fscanf fseek
    fsetpos fsqrt fsqrtl fsub fsubl ftell fwide fwprintf fwrite fwscanf getc getchar getenv gets
    getwc getwchar gmtime gmtime_r imaxabs imaxdiv isalnum isalpha isblank iscntrl isdigit
    isgraph islower isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype
    iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit labs ldiv
    llabs lldiv localeconv localtime localtime_r longjmp malloc mblen mbrlen mbrtoc16 mbrtoc32
    mbrtoc8 mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc memalignment memccpy memchr memcmp memcpy
    memmove memset memset_explicit mktime mtx_destroy mtx_init mtx_lock mtx_timedlock
    mtx_trylock mtx_unlock perror printf putc putchar puts putwc putwchar qsort quick_exit raise
    rand realloc remove rename rewind scanf setbuf setjmp setlocale setvbuf signal snprintf
    sprintf srand sscanf stderr stdin stdout strcat strchr strcmp strcoll strcpy strcspn strdup
    strerror strfromd strfromf strfroml strftime strlen strncat strncmp strncpy strndup strpbrk
    strrchr strspn strstr strtod strtof strtoimax strtok strtol strtold strtoll strtoul strtoull
    strtoumax strxfrm swprintf swscanf system thrd_create thrd_current thrd_detach thrd_equal
    thrd_exit thrd_join thrd_sleep thrd_yield time timegm timespec_get timespec_getres tmpfile
    tmpnam tolower toupper towctrans towlower towupper tss_create tss_delete tss_get tss_set
    ungetc ungetwc va_arg va_copy va_end va_start vfprintf vfscanf vfwprintf vfwscanf vprintf
    vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wcrtomb wcscat wcschr
    wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr
    wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs
    wcstoul wcstoull wcstoumax wcsxfrm wctob wctomb wctrans wctype wmemchr wmemcmp wmemcpy
    wmemmove wmemset wprintf wscanf
"""

#: Words for which compilers put numbers unless they are told to keep to the standard.
_NUMBERS = "i386 linux unix"

_REFUSED = (
    dict.fromkeys(_KEYWORDS.split(), "it is a keyword")
    | dict.fromkeys(_LIBRARY.split(), "the standard library has it")
    | dict.fromkeys(
        (f"{name}{kind}" for name in _MATHEMATICS.split() for kind in ("", "f", "l")),
        "the standard library has it",
    )
    | dict.fromkeys(_NUMBERS.split(), "compilers have it")
)

#: Families of names of the standard library.
_FAMILIES = re.compile(r"(atomic|stdc|kill_dependency)(_\w*)?")


def check_name(name: object) -> str:
    """The name, if a function that other files call can have it in C99, C11 and C23.

    Raises
    ------
    InvalidInputError
        If it is no identifier in ASCII, a keyword, a name of the standard library (all of which
        are reserved, whatever a file includes), or begins with an underscore (all of which are
        reserved in a file's scope).

    Examples
    --------
    >>> check_name("control")
    'control'
    >>> check_name("_Bool")
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: '_Bool' is no name for a function in C: names that begin ...
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        why = "expected a letter, then letters, digits and underscores"
    elif name.startswith("_"):
        why = "names that begin with an underscore are reserved"
    elif name in _REFUSED:
        why = _REFUSED[name]
    elif _FAMILIES.fullmatch(name):
        why = "the standard library has it"
    else:
        return name
    raise InvalidInputError(f"{name!r} is no name for a function in C: {why}")


# --- numbers and tables in C ----------------------------------------------------------------------

Number = Literal["double", "float"]


def table(name: str, rows: NDArray[Any], number: Number) -> str:
    """A constant array of numbers, one row a line.

    Examples
    --------
    >>> print(table("a", np.array([[1.0, 0.5]]), "double"))
    static const double a[1][2] = {
        {1.0, 0.5},
    };
    """
    limit = np.finfo(np.float32 if number == "float" else np.float64).max
    if not (np.abs(rows) <= limit).all():
        raise InvalidInputError(f"a number of the table {name!r} does not fit into a {number}")
    body = "".join(
        f"    {{{', '.join(literal(value, number) for value in row)}}},\n" for row in rows
    )
    return f"static const {number} {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}}};"


def integers(name: str, rows: NDArray[Any]) -> str:
    """A constant array of whole numbers, of the smallest type that is sure to hold them.

    Examples
    --------
    >>> print(integers("a", np.array([[1, -2]])))
    static const short a[1][2] = {
        {1, -2},
    };
    """
    kind = "short" if np.abs(rows).max(initial=0) < 2**15 else "long"
    body = "".join(f"    {{{', '.join(map(str, row.tolist()))}}},\n" for row in rows)
    return f"static const {kind} {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}}};"


def literal(value: float, number: Number) -> str:
    """A number that is read back as it was, rounded to single precision if float.

    Examples
    --------
    >>> literal(0.1, "double"), literal(0.1, "float")
    ('0.1', '0.1f')
    """
    return repr(float(value)) if number == "double" else f"{np.float32(value)!s}f"


# --- a network's forward pass as plain C99 --------------------------------------------------------


def network_code(network: Network, name: str, number: Number) -> str:
    """Tables and the function ``static void name_forward(const double *x, double *y)``.

    All outputs are nan where a number on the way is infinite or nan: a later neuron could hide it.

    Examples
    --------
    >>> code = network_code(Network.mlp([[[1.0]], [[2.0]]]), "f", "double")
    >>> "static void f_forward(const double *x, double *y)" in code
    True
    """
    return _Forward(network, name, number).text()


class _Forward:
    """Tables and statements; layer k is the array ``hk``."""

    def __init__(self, network: Network, name: str, number: Number) -> None:
        self.name, self.number, self.outputs = name, number, network.n_outputs
        self.tables: list[str] = []
        self.body: list[str] = []
        names = {k: f"h{k}" for k in range(network.depth + 1)}
        embedding = network.float_embedding
        if embedding is None:
            names[0] = "x"
        else:
            self.affine("h0", {"x": embedding.matrix}, embedding.offset)
        for k, layer in enumerate(network.layers, start=1):
            terms = {names[source]: matrix for source, matrix in layer.affine.terms.items()}
            self.affine(names[k], terms, layer.affine.bias)
            self.activation(names[k], layer.activation)
        output = network.output
        terms = {names[source]: matrix for source, matrix in output.terms.items()}
        self.affine("y", terms, output.bias)

    def text(self) -> str:
        head = f"static void {self.name}_forward(const {self.number} *x, {self.number} *y)"
        return "\n".join(
            [
                "/* The network itself. */",
                *self.tables,
                "",
                head,
                "{",
                "    int i;",
                f"    {self.number} lost = 0;  /* nan as soon as something overflows */",
                *self.body,
                f"    for (i = 0; i < {self.outputs}; i++)",
                "        y[i] += lost;",
                "}\n",
            ]
        )

    def affine(self, target: str, terms: Mapping[str, Matrix], bias: FloatArray) -> None:
        """``target`` is the sum of matrices times earlier arrays, plus a bias."""
        label = f"{self.name}_{target}"
        if target != "y":
            self.body.append(f"    {self.number} {target}[{len(bias)}];")
        self.tables.append(table(f"{label}_bias", bias[None], self.number))
        self.body.append(f"    for (i = 0; i < {len(bias)}; i++) {{")
        self.body.append(f"        {self.number} sum = {label}_bias[0][i];")
        if any(matrix.shape[1] for matrix in terms.values()):
            self.body.append("        int j;")
        for source, matrix in terms.items():
            dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
            self.tables.append(table(f"{label}_from_{source}", dense, self.number))
            self.body.append(f"        for (j = 0; j < {dense.shape[1]}; j++)")
            self.body.append(f"            sum += {label}_from_{source}[i][j] * {source}[j];")
        self.body += ["        lost += sum - sum;", f"        {target}[i] = sum;", "    }"]

    def activation(self, target: str, activation: Activation) -> None:
        """``target`` is replaced by its activation."""
        label = f"{self.name}_{target}"
        parts = (activation.breakpoints, activation.slopes, activation.intercepts)
        same = all((part == part[0]).all() for part in parts)
        bends, slopes, offsets = (part[:1] if same else part for part in parts)
        row = "0" if same else "i"
        largest = np.finfo(np.float32 if self.number == "float" else np.float64).max
        pieces = slopes.shape[1]
        if pieces > 1:  # a breakpoint at infinity is never passed
            self.tables.append(table(f"{label}_bends", np.minimum(bends, largest), self.number))
        self.tables.append(table(f"{label}_slopes", slopes, self.number))
        self.tables.append(table(f"{label}_offsets", offsets, self.number))
        self.body.append(f"    for (i = 0; i < {activation.rows}; i++) {{")
        self.body.append("        int piece = 0;")
        self.body += _count_bends(f"{label}_bends[{row}][piece]", f"{target}[i]", pieces - 1)
        self.body.append(
            f"        {target}[i] = {label}_slopes[{row}][piece] * {target}[i]"
            f" + {label}_offsets[{row}][piece];"
        )
        self.body.append("    }")


def _count_bends(bend: str, value: str, count: int) -> Iterator[str]:
    if count:
        yield f"        while (piece < {count} && {value} > {bend})"
        yield "            piece++;"


def compile_to_c(
    regions: Regions,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "network",
    number: Number = "double",
    forward: bool = True,
) -> str:
    """Write the network on a domain as C99 code that finds the region and applies its map.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    path : str or path-like, optional
        Where to write the code; default: it is only returned.
    name : str
        The function's name: an identifier that is neither a keyword of C99, C11 or C23, nor
        reserved (the standard library's names, and all that begin with an underscore).
    number : {"double", "float"}
        Its type of numbers.
    forward : bool
        Put the network itself into the code, too, for points outside the domain and for points that
        are so close to a boundary that rounding errors hide on which side they are. Without it,
        such points get the map of a region at that boundary, and points outside get no value.

    Returns
    -------
    str
        The code. It needs no library and no memory but the stack, and is free of recursion.

    Raises
    ------
    InvalidInputError
        If the name is no name in C, the regions are not complete, or a number of a map is too
        large for the type.

    Notes
    -----
    The function is ``long name(const double *x, double *y)``. It writes the outputs to ``y`` and
    returns the region's index, or -1 outside the domain. It also returns -1 where x is not finite,
    or so large (about 1e280; 1e27 for float) that a test could overflow. Then the outputs are nan
    if x is not finite or there is no network; else the network's, and nan if it overflows, too.
    This takes a compiler that knows of nan and infinities (no ``-ffast-math``).

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> code = compile_to_c(enumerate_regions(network, Box(-1, 1)), name="control")
    >>> "long control(const double *x, double *y)" in code
    True
    """
    regions = as_regions(regions)
    check_name(name)
    if number not in ("double", "float"):
        raise InvalidInputError(f"number must be 'double' or 'float', not {number!r}")
    code = _Code(regions, name, number, forward).text()
    if path is not None:
        with replacing(path_of(path)) as temporary:
            temporary.write_text(code, encoding="ascii")
    return code


class _Code:
    """The parts of a C file, which become one text."""

    def __init__(self, regions: Regions, name: str, number: Number, forward: bool) -> None:
        self.regions, self.name, self.number = regions, name, number
        self.network = regions.network
        self.tree = CutTree.of(regions)
        self.low, self.high, self.domain = split_domain(regions)
        self.rows = self.tree.rows
        if number == "float":
            self.rows, self.domain = single_precision(self.rows), single_precision(self.domain)
        bounded = bool(np.isfinite([self.low, self.high]).any())
        self.tested = bool(len(self.rows) or len(self.domain))
        self.forward = forward and (bounded or self.tested)
        largest = float(np.finfo(np.float32 if number == "float" else np.float64).max) / 1e8
        tables = [self.rows, self.domain, regions.affine_maps]
        self.limit = largest_size(tables, largest)

    def text(self) -> str:
        parts = [self.header(), self.tables()]
        if self.forward:
            parts.append(network_code(self.network, self.name, self.number))
        return "\n".join([*parts, self.function()])

    def header(self) -> str:
        inputs, outputs = self.network.n_inputs, self.network.n_outputs
        if self.forward:
            rest = [
                "The network itself is used where x lies outside the domain, or is too large, and",
                "where x is so close to a boundary that rounding hides on which side it is; y is",
                "nan where it overflows.",
            ]
        else:
            rest = [
                "Where x is so close to a boundary that rounding hides on which side it is, y is",
                "the map of a region at that boundary. Outside the domain y is left as it is;",
                "where x is too large it is nan.",
            ]
        lines = [
            _ascii(repr(self.network)),
            f"on {_ascii(repr(self.regions.domain))}:",
            f"an explicit piecewise-affine function with {len(self.regions)} regions.",
            "",
            f"    long {self.name}(const {self.number} *x, {self.number} *y)",
            "",
            f"reads {inputs} inputs, writes {outputs} outputs, and returns the index of the region",
            "of x, or -1 if x lies outside the domain, is not finite, or has a coordinate beyond",
            f"{self.limit:.1e}, where tests could overflow. Where x is not finite y is nan.",
            "",
            f"A region is found by at most {self.tree.levels} tests, each of them a dot product of",
            f"{inputs} numbers. No memory is asked for, and nothing is kept between calls.",
            *rest,
            f"Fingerprint of the network: {self.network.fingerprint}",
        ]
        return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */", ""])

    def tables(self) -> str:
        name, d = self.name, self.network.n_inputs
        maps = self.regions.affine_maps.reshape(-1, d + 1)
        parts = [
            "/* Per output of a region, one after the other: coefficients and offset. */",
            table(f"{name}_maps", maps, self.number),
        ]
        if len(self.rows):
            parts += [
                "/* Per test: coefficients and offset, scaled such that values beyond",
                "   max(1, |x|) have the right sign for sure. */",
                table(f"{name}_tests", self.rows, self.number),
                "/* Where a test leads to if its value is negative, and if it is positive:",
                "   another test, or -1 - region. */",
                integers(f"{name}_next", self.tree.children),
            ]
        if len(self.domain):
            parts += [
                "/* The domain: values are positive inside; scaled like the tests. */",
                table(f"{name}_domain", self.domain, self.number),
            ]
        return "\n".join(parts) + "\n"

    def function(self) -> str:
        number, d, outputs = self.number, self.network.n_inputs, self.network.n_outputs
        careful = self.forward and self.tested
        lines = [
            f"long {self.name}(const {number} *x, {number} *y)",
            "{",
            "    long region = 0;",
            "    int i, j;",
            *self.guard(),
            *(self.sizing() if careful else ()),
            *self.domain_tests(),
            *self.search(),
            f"    for (i = 0; i < {outputs}; i++) {{",
            f"        const {number} *map = {self.name}_maps[region * {outputs} + i];",
            f"        y[i] = map[{d}];",
            f"        for (j = 0; j < {d}; j++)",
            "            y[i] += map[j] * x[j];",
            "    }",
        ]
        if careful:
            lines += ["    if (unsure)", f"        {self.name}_forward(x, y);"]
        return "\n".join([*lines, "    return region;", "}"]) + "\n"

    def guard(self) -> Iterator[str]:
        """Points that are not finite, or so large that tests could overflow."""
        limit = literal(self.limit, self.number)
        yield f"    for (j = 0; j < {self.network.n_inputs}; j++) {{"
        yield f"        if (!(x[j] >= -{limit} && x[j] <= {limit})) {{"
        if self.forward:
            yield f"            {self.name}_forward(x, y);"
        else:
            yield f"            const {self.number} zero = 0;"
            yield f"            for (i = 0; i < {self.network.n_outputs}; i++)"
            yield "                y[i] = zero / zero;"
        yield "            return -1;"
        yield "        }"
        yield "    }"

    def sizing(self) -> Iterator[str]:
        """Code for the size of the inputs, of which the bounds on rounding are multiples."""
        yield f"    {self.number} size = 1;"
        yield "    int unsure = 0;"
        yield f"    for (j = 0; j < {self.network.n_inputs}; j++) {{"
        yield "        if (x[j] > size)"
        yield "            size = x[j];"
        yield "        if (-x[j] > size)"
        yield "            size = -x[j];"
        yield "    }"

    def domain_tests(self) -> Iterator[str]:
        """The comparisons of a box (exact), and the rows of a polytope."""
        bounds = []
        for j in range(self.network.n_inputs):
            # written such that nan is outside
            if np.isfinite(self.low[j]):
                bounds.append(f"!(x[{j}] >= {literal(self.low[j], self.number)})")
            if np.isfinite(self.high[j]):
                bounds.append(f"!(x[{j}] <= {literal(self.high[j], self.number)})")
        outside = [f"{self.name}_forward(x, y);"] if self.forward else []
        outside.append("return -1;")
        for bound in bounds:
            yield f"    if ({bound}) {{"
            yield from (f"        {line}" for line in outside)
            yield "    }"
        if len(self.domain):
            yield f"    for (i = 0; i < {len(self.domain)}; i++) {{"
            yield from self.value(f"{self.name}_domain[i]")
            yield f"        if (value < {'-size' if self.forward else '0'}) {{"
            yield from (f"            {line}" for line in outside)
            yield "        }"
            yield from self.doubt()
            yield "    }"

    def search(self) -> Iterator[str]:
        """From test to test until a region is reached."""
        if len(self.rows):
            yield "    do {"
            yield from self.value(f"{self.name}_tests[region]")
            yield from self.doubt()
            yield f"        region = {self.name}_next[region][value > 0];"
            yield "    } while (region >= 0);"
            yield "    region = -1 - region;"

    def doubt(self) -> Iterator[str]:
        if self.forward:
            yield "        if (!(value > size || value < -size))"
            yield "            unsure = 1;"

    def value(self, row: str) -> Iterator[str]:
        d = self.network.n_inputs
        yield f"        {self.number} value = {row}[{d}];"
        yield f"        for (j = 0; j < {d}; j++)"
        yield f"            value += {row}[j] * x[j];"


def _ascii(text: str) -> str:
    """Text for a comment."""
    plain = re.sub(r"\s+", " ", text).replace("→", "->").replace("*/", "* /")
    return plain.encode("ascii", "replace").decode()
