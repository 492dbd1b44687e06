/* number_text.cpp -- see number_text.h: the one C++ file, as C has neither a correct and fast reader nor a shortest writer. */
#include "server/codec/number_text.h"

#include <charconv>

namespace {

template <typename T> tpd_text read(const char *text, size_t bytes, T *value) {
    const std::from_chars_result result = std::from_chars(text, text + bytes, *value);
    if (result.ec == std::errc::invalid_argument || result.ptr != text + bytes)
        return TPD_TEXT_BAD;
    return result.ec == std::errc() ? TPD_TEXT_OK : TPD_TEXT_RANGE;
}

template <typename T> size_t write(T value, char *text) {
    return static_cast<size_t>(std::to_chars(text, text + 24, value).ptr - text);
}

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
    return write(value, text);
}
size_t tpd_text_write_float(float value, char *text) {
    return write(value, text);
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
