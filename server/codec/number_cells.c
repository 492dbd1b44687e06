/* number_cells.c -- many cells to items. A short plain decimal, as nearly all are, is read sixteen bytes at a time without a
 * branch on its digits, or eight of them at once where the processor can; any other goes the whole way of number.c.
 *
 * Exact: up to 2^53 the digits are a double, so are powers of ten up to 10^22, and one division rounds once (Clinger, 1990).
 */
#include <stdatomic.h>
#include <string.h>

#include "server/codec/number.h"
#include "server/codec/number_float.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { QUICK_BYTES = 16, NO_POINT = 31, ALONE = 8 };
static const uint64_t EXACT = (uint64_t)1 << 53;
static const double powers[NO_POINT + 1] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,           1e8,
                                            1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, [NO_POINT] = 1};

/* What a short cell says: digits / powers[decimals]. */
struct quick {
    uint64_t digits;
    unsigned decimals; /* NO_POINT without one */
    unsigned negative; /* 0 or 1 */
};

#if defined(__SSE2__)
static const unsigned char ramp[48] = {0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
                                       255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                       255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* Of sixteen bytes, the last `count`. */
static inline __m128i last_bytes(unsigned count) {
    return _mm_loadu_si128((const __m128i *)(const void *)(ramp + count));
}

/* `end` is behind the cell; the sixteen bytes before it may be read, however few of them are the cell's. Signs and points are as
 * good as random: no branch asks for them. */
static inline bool read_quick(const unsigned char *end, uint64_t bytes, struct quick *quick) {
    if (bytes - 1 > QUICK_BYTES)
        return false;
    quick->negative = end[-(int64_t)bytes] == '-';
    bytes -= quick->negative;
    if (bytes - 1 >= QUICK_BYTES)
        return false;
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(end - QUICK_BYTES));
    __m128i point = _mm_and_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('.')), last_bytes((unsigned)bytes));
    /* Without a point all bytes stay; with one, those before it move onto its place. */
    unsigned behind = (15 - (unsigned)__builtin_ctz((unsigned)_mm_movemask_epi8(point) | 1 << 16)) & NO_POINT;
    quick->decimals = behind;
    __m128i stay = last_bytes(behind);
    text = _mm_or_si128(_mm_and_si128(text, stay), _mm_andnot_si128(stay, _mm_slli_si128(text, 1)));
    unsigned count = (unsigned)bytes - (behind != NO_POINT);
    __m128i digits = _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')), last_bytes(count));
    __m128i wrong = _mm_subs_epu8(digits, _mm_set1_epi8(9)); /* a second point is wrong as well */
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) != 0xffff || count == 0)
        return false;
    /* 16 digits, 8 pairs, 4 fours, 2 eights. */
    __m128i pairs = _mm_add_epi16(_mm_mullo_epi16(_mm_and_si128(digits, _mm_set1_epi16(0xff)), _mm_set1_epi16(10)),
                                  _mm_srli_epi16(digits, 8));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    fours = _mm_packs_epi32(fours, fours);
    uint64_t eights = (uint64_t)_mm_cvtsi128_si64(_mm_madd_epi16(fours, _mm_set1_epi32(1 << 16 | 10000)));
    quick->digits = (eights & 0xffffffff) * 100000000 + (eights >> 32);
    return true;
}
#else
static inline bool read_quick(const unsigned char *end, uint64_t bytes, struct quick *quick) {
    const unsigned char *at = end - bytes;
    *quick = (struct quick){.decimals = NO_POINT};
    if (bytes - 1 > QUICK_BYTES)
        return false;
    quick->negative = *at == '-';
    at += quick->negative;
    unsigned count = (unsigned)(end - at), digits = 0;
    for (; at < end; at++) {
        unsigned digit = *at - (unsigned)'0';
        if (digit > 9 && (*at != '.' || quick->decimals != NO_POINT))
            return false;
        if (digit > 9) {
            quick->decimals = (unsigned)(end - at) - 1;
            continue;
        }
        quick->digits = quick->digits * 10 + digit;
        digits++;
    }
    return digits != 0 && count <= QUICK_BYTES;
}
#endif

/* The sign is as good as random: it is set without a branch. */
static inline double value_of(const struct quick *quick) {
    double value = (double)(int64_t)quick->digits / powers[quick->decimals];
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    word |= (uint64_t)quick->negative << 63;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Is the double so near the middle of two floats that the text has to decide? Else rounding it once more rounds right. */
static inline bool is_halfway(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return (word & 0x1fffffff) == 0x10000000;
}

/* One item, or false: the whole way then says what the cell is. */
static inline bool store(enum tpd_dtype dtype, enum tpd_dtype_kind kind, uint32_t itemsize, const struct quick *quick,
                         const char *text, size_t bytes, void *item) {
    if (kind == TPD_KIND_FLOAT) {
        if (quick->digits > EXACT)
            return false;
        double wide = value_of(quick);
        if (dtype == TPD_DTYPE_FLOAT64) {
            memcpy(item, &wide, sizeof wide);
            return true;
        }
        if (dtype == TPD_DTYPE_FLOAT32) { /* at least 10^-16, so never one of the small ones without their full precision */
            float single = (float)wide;
            memcpy(item, &single, sizeof single);
            return !is_halfway(wide);
        }
        uint32_t bits;
        if (!tpd_float_narrow(dtype, wide, text, bytes, &bits))
            return false;
        memcpy(item, &bits, itemsize);
        return true;
    }
    if (quick->decimals != NO_POINT)
        return false;
    uint64_t most = kind == TPD_KIND_BOOL ? 1 : UINT64_MAX >> (64 - 8 * itemsize);
    if (kind == TPD_KIND_SIGNED)
        most = (most >> 1) + quick->negative;
    if (quick->digits > most || (quick->negative && kind != TPD_KIND_SIGNED))
        return false;
    uint64_t flip = 0 - (uint64_t)quick->negative, value = (quick->digits ^ flip) - flip;
    memcpy(item, &value, itemsize); /* little-endian: the low bytes come first */
    return true;
}

static uint64_t none(const unsigned char *text, const struct tpd_cell *cells, uint64_t count, double *items) {
    (void)text, (void)cells, (void)count, (void)items;
    return 0;
}

static tpd_number_doubles *best(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi2"))
        return tpd_number_doubles_avx512;
#endif
    return none;
}

static _Atomic(tpd_number_doubles *) in_use;

void tpd_number_doubles_use(bool fast) {
    atomic_store_explicit(&in_use, fast ? best() : none, memory_order_relaxed);
}

static tpd_number_doubles *doubles(void) {
    tpd_number_doubles *now = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (now == NULL)
        atomic_store_explicit(&in_use, now = best(), memory_order_relaxed); /* any thread finds the same */
    return now;
}

/* The dtype is a constant where this is inlined. */
static inline enum tpd_status run(enum tpd_spelling spelling, enum tpd_dtype dtype, enum tpd_dtype_kind kind, uint32_t itemsize,
                                  const unsigned char *text, const struct tpd_cell *cells, uint64_t count, unsigned char *out,
                                  uint64_t *failed, const char **why) {
    tpd_number_doubles *const many = doubles();
    uint64_t alone = 0; /* cells before this one are looked at one by one */
    for (uint64_t i = 0; i < count; i++, out += itemsize) {
        if (dtype == TPD_DTYPE_FLOAT64 && i >= alone) {
            uint64_t read = many(text, cells + i, count - i, (double *)(void *)out);
            i += read;
            out += read * itemsize;
            alone = i + ALONE;
            if (i == count)
                break;
        }
        uint64_t offset = cells[i].place >> 24, bytes = cells[i].place & TPD_CELL_BYTES_MOST;
        struct quick quick;
        bool room = offset >= QUICK_BYTES; /* the first few cells have nothing before them that may be read */
        if (room && read_quick(text + offset + bytes, bytes, &quick) &&
            store(dtype, kind, itemsize, &quick, (const char *)text + offset, bytes, out))
            continue;
        if (room && bytes > 2 && text[offset] == '"' && text[offset + bytes - 1] == '"' && spelling == TPD_SPELLING_PLAIN &&
            read_quick(text + offset + bytes - 1, bytes - 2, &quick) &&
            store(dtype, kind, itemsize, &quick, (const char *)text + offset + 1, bytes - 2, out))
            continue;
        enum tpd_status status = tpd_number_read(spelling, dtype, (const char *)text + offset, bytes, out, why);
        if (status != TPD_OK) {
            *failed = i;
            return status;
        }
    }
    return TPD_OK;
}

enum tpd_status tpd_number_read_cells(enum tpd_spelling spelling, enum tpd_dtype dtype, const unsigned char *text,
                                      const struct tpd_cell *cells, uint64_t count, void *items, uint64_t *failed,
                                      const char **why) {
    enum tpd_dtype_kind kind = tpd_dtype_kind(dtype);
    if (dtype == TPD_DTYPE_FLOAT64)
        return run(spelling, TPD_DTYPE_FLOAT64, TPD_KIND_FLOAT, 8, text, cells, count, items, failed, why);
    if (dtype == TPD_DTYPE_FLOAT32)
        return run(spelling, TPD_DTYPE_FLOAT32, TPD_KIND_FLOAT, 4, text, cells, count, items, failed, why);
    if (dtype == TPD_DTYPE_INT64)
        return run(spelling, TPD_DTYPE_INT64, TPD_KIND_SIGNED, 8, text, cells, count, items, failed, why);
    if (kind != TPD_KIND_COMPLEX)
        return run(spelling, dtype, kind, tpd_dtype_itemsize(dtype), text, cells, count, items, failed, why);
    unsigned char *out = items;
    for (uint64_t i = 0; i < count; i++, out += tpd_dtype_itemsize(dtype)) {
        const char *cell = (const char *)text + (cells[i].place >> 24);
        enum tpd_status status = tpd_number_read(spelling, dtype, cell, cells[i].place & TPD_CELL_BYTES_MOST, out, why);
        if (status != TPD_OK) {
            *failed = i;
            return status;
        }
    }
    return TPD_OK;
}
