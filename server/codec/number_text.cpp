/* number_text.cpp -- see number_text.h: the one C++ file, as C has neither a correct and fast reader nor a shortest writer.
 *
 * Shortest digits come from Dragonbox where it is installed (Debian: libdragonbox-dev): half the time of std::to_chars, and
 * letter for letter its text. Without it std::to_chars does all of it. */
#include "server/codec/number_text.h"

#include <charconv>
#include <cstring>

#if __has_include(<dragonbox/dragonbox.h>)
#include <dragonbox/dragonbox.h>
#define TPD_HAS_DRAGONBOX 1
#else
#define TPD_HAS_DRAGONBOX 0
#endif

namespace {

template <typename T> tpd_text read(const char *text, size_t bytes, T *value) {
    const std::from_chars_result result = std::from_chars(text, text + bytes, *value);
    if (result.ec == std::errc::invalid_argument || result.ptr != text + bytes)
        return TPD_TEXT_BAD;
    return result.ec == std::errc() ? TPD_TEXT_OK : TPD_TEXT_RANGE;
}

template <typename T> size_t write(T value, char *text) {
    return static_cast<size_t>(std::to_chars(text, text + TPD_TEXT_MOST, value).ptr - text);
}

/* How a whole number ends: as it is, or with the ".0" that says "float". */
template <bool REAL> size_t finish(char *text, size_t bytes) {
    if (REAL)
        std::memcpy(text + bytes, ".0", 2);
    return bytes + (REAL ? 2 : 0);
}

/* The standard library's text for a float, whatever it looks like. */
template <bool REAL, typename T> size_t write_any(T value, char *text) {
    const size_t bytes = write(value, text);
    if (REAL && std::memchr(text, '.', bytes) == nullptr && std::memchr(text, 'e', bytes) == nullptr)
        return finish<REAL>(text, bytes);
    return bytes;
}

#if TPD_HAS_DRAGONBOX
constexpr uint64_t powers[] = {1,
                               10,
                               100,
                               1000,
                               10000,
                               100000,
                               1000000,
                               10000000,
                               100000000,
                               1000000000,
                               10000000000,
                               100000000000,
                               1000000000000,
                               10000000000000,
                               100000000000000,
                               1000000000000000,
                               10000000000000000,
                               100000000000000000};
enum { DIGITS_MOST = 17 };

int count_digits(uint64_t value) {
    /* 1233 / 4096 is a little over log10(2): right, or one too few. */
    const int guess = (64 - __builtin_clzll(value)) * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

/* Eight digits, the first of them in the lowest byte: halves, then pairs, then digits, side by side in one word. */
uint64_t eight(uint32_t value) {
    uint64_t word = value / 10000 | static_cast<uint64_t>(value % 10000) << 32;
    const uint64_t hundreds = (word * 10486 >> 20) & 0x7f0000007f;
    word = hundreds | (word - hundreds * 100) << 16;
    const uint64_t tens = (word * 103 >> 10) & 0x000f000f000f000f;
    return (tens | (word - tens * 10) << 8) | 0x3030303030303030;
}

/* DIGITS_MOST digits of a value below ten to the power of that, leading zeros too. */
void put_digits(uint64_t value, char *text) {
    const uint64_t rest = value % powers[16], high = eight(static_cast<uint32_t>(rest / powers[8])),
                   low = eight(static_cast<uint32_t>(rest % powers[8]));
    text[0] = static_cast<char>('0' + value / powers[16]);
    std::memcpy(text + 1, &high, 8);
    std::memcpy(text + 9, &low, 8);
}

char *put_exponent(int exponent, char *at) {
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    unsigned size = static_cast<unsigned>(exponent < 0 ? -exponent : exponent);
    if (size >= 100) {
        *at++ = static_cast<char>('0' + size / 100);
        size %= 100;
    }
    *at++ = static_cast<char>('0' + size / 10);
    *at++ = static_cast<char>('0' + size % 10);
    return at;
}

/* d.ddde-dd: the first digit moves before the point. */
char *put_scientific(uint64_t significand, int digits, int exponent, char *at) {
    put_digits(significand * powers[DIGITS_MOST - digits], at + 1);
    at[0] = at[1];
    at[1] = '.';
    return put_exponent(exponent, at + (digits == 1 ? 1 : digits + 1));
}

/* Of a double from 0.001 to 100000 that is no whole number: is it a decimal of nine places, as most in tables are? Decimals of up
 * to 15 digits are all different doubles, so one that reads back as the value is its shortest text once its last zeros are gone.
 * The division is by a power of ten that is exact, and rounds once, as reading does. Answers the end, or nullptr. */
char *put_short(double size, char *at) {
    constexpr double scale = 1e9;
    const uint64_t decimal = static_cast<uint64_t>(size * scale + 0.5);
    if (static_cast<double>(static_cast<int64_t>(decimal)) / scale != size)
        return nullptr;
    const uint32_t whole = static_cast<uint32_t>(decimal / powers[9]), rest = static_cast<uint32_t>(decimal % powers[9]);
    if (whole < 10)
        *at++ = static_cast<char>('0' + whole);
    else
        at += write(whole, at);
    const uint64_t low = eight(rest % 100000000);
    at[0] = '.';
    at[1] = static_cast<char>('0' + rest / 100000000);
    std::memcpy(at + 2, &low, 8);
    const uint64_t digits = low ^ 0x3030303030303030; /* the last one highest */
    return at + 2 + (digits != 0 ? 8 - __builtin_clzll(digits) / 8 : 0);
}

/* What std::to_chars writes: plain where that is no longer than with an exponent, by its own bounds. Signs, and whether there
 * are zeros behind the point, are as good as random: no branch asks for them. */
template <bool REAL, typename T> size_t write_float(T value, char *text) {
    const T size = value < 0 ? -value : value, exact = sizeof(T) == sizeof(double) ? 9007199254740992 : 16777216;
    if (size == 0)
        return write_any<REAL>(value, text);
    char *at = text;
    *at = '-';
    at += value < 0;
    if (size < 100000 && size == static_cast<T>(static_cast<uint32_t>(size))) /* no exponent is shorter */
        return finish<REAL>(text, static_cast<size_t>(at - text) + write(static_cast<uint32_t>(size), at));
    if (sizeof(T) == sizeof(double) && size >= static_cast<T>(0.001) && size < 100000)
        if (char *const end = put_short(static_cast<double>(size), at))
            return static_cast<size_t>(end - text);
    const auto decimal = jkj::dragonbox::to_decimal(value, jkj::dragonbox::policy::sign::ignore);
    const uint64_t significand = decimal.significand;
    const int exponent = decimal.exponent, digits = count_digits(significand), is_one = digits == 1;
    if (exponent < -(digits + 3) + is_one || exponent > 5 - is_one)
        return static_cast<size_t>(put_scientific(significand, digits, exponent + digits - 1, at) - text);
    if ((exponent > 0 && size >= exact) || exponent < -DIGITS_MOST) /* whole, with more digits than are needed; or 0.0d */
        return write_any<REAL>(value, text);
    if (exponent >= 0)
        return finish<REAL>(text, static_cast<size_t>(at - text) + write(significand * powers[exponent], at));
    const uint64_t whole = significand / powers[-exponent], rest = significand - whole * powers[-exponent];
    if (whole < 10)
        *at++ = static_cast<char>('0' + whole);
    else
        at += write(whole, at);
    *at++ = '.';
    char fraction[DIGITS_MOST];
    put_digits(rest * powers[DIGITS_MOST + exponent], whole < 10 ? at : fraction);
    if (whole >= 10) /* less room: digits before the point are none behind it */
        std::memcpy(at, fraction, static_cast<size_t>(-exponent));
    return static_cast<size_t>(at - text) + static_cast<size_t>(-exponent);
}
#else
template <bool REAL, typename T> size_t write_float(T value, char *text) {
    return write_any<REAL>(value, text);
}
#endif

} // namespace

enum tpd_text tpd_text_read_double(const char *text, size_t bytes, double *value) {
    return read(text, bytes, value);
}
enum tpd_text tpd_text_read_float(const char *text, size_t bytes, float *value) {
    return read(text, bytes, value);
}
enum tpd_text tpd_text_read_int64(const char *text, size_t bytes, int64_t *value) {
    return read(text, bytes, value);
}
enum tpd_text tpd_text_read_uint64(const char *text, size_t bytes, uint64_t *value) {
    return read(text, bytes, value);
}

size_t tpd_text_write_double(double value, char *text) {
    return write_float<false>(value, text);
}
size_t tpd_text_write_float(float value, char *text) {
    return write_float<false>(value, text);
}
size_t tpd_text_write_real_double(double value, char *text) {
    return write_float<true>(value, text);
}
size_t tpd_text_write_real_float(float value, char *text) {
    return write_float<true>(value, text);
}
size_t tpd_text_write_int64(int64_t value, char *text) {
    return write(value, text);
}
size_t tpd_text_write_uint64(uint64_t value, char *text) {
    return write(value, text);
}

size_t tpd_text_write_digits(double value, int decimals, char *text) {
    char *end = std::to_chars(text, text + decimals + 10, value, std::chars_format::scientific, decimals).ptr;
    return static_cast<size_t>(end - text);
}
