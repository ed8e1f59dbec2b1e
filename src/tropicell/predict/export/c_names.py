"""Which names a function in C can have."""

from __future__ import annotations

import re

from tropicell.errors import InvalidInputError

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
