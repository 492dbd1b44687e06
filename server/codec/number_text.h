/* number_text.h -- std::from_chars and std::to_chars behind a C face: correctly rounded in, shortest out.
 *
 * Pure, no locale. Text has no NUL and no sign but '-'.
 */
#ifndef TPD_NUMBER_TEXT_H
#define TPD_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TPD_TEXT_RANGE: too large or too small; what it is then, the caller finds out. */
enum tpd_text { TPD_TEXT_OK, TPD_TEXT_BAD, TPD_TEXT_RANGE };

enum tpd_text tpd_text_read_double(const char *text, size_t bytes, double *value);
enum tpd_text tpd_text_read_float(const char *text, size_t bytes, float *value);
enum tpd_text tpd_text_read_int64(const char *text, size_t bytes, int64_t *value);
enum tpd_text tpd_text_read_uint64(const char *text, size_t bytes, uint64_t *value);

enum { TPD_TEXT_MOST = 24 };
/* Shortest text that reads back as the same value, no NUL; as many as TPD_TEXT_MOST bytes may be written. Finite values only. */
size_t tpd_text_write_double(double value, char *text);
size_t tpd_text_write_float(float value, char *text);
/* The same with ".0" behind a whole number that has no exponent: text that says "float". Up to TPD_TEXT_MOST + 2. */
size_t tpd_text_write_real_double(double value, char *text);
size_t tpd_text_write_real_float(float value, char *text);
size_t tpd_text_write_int64(int64_t value, char *text);
size_t tpd_text_write_uint64(uint64_t value, char *text);
/* d.ddde-dd with that many digits behind the point, correctly rounded; at most decimals + 10 bytes. */
size_t tpd_text_write_digits(double value, int decimals, char *text);

#ifdef __cplusplus
}
#endif

#endif
