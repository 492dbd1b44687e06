/* digest.c -- Content-Digest and Want-Content-Digest (RFC 9530): the sha-256 member of a structured dictionary. */
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/http/http_internal.h"

enum { BASE64_BYTES = BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) };

/* The value of the member `sha-256`, and its length; NULL when the dictionary has none. The last one counts (RFC 8941). */
static const char *member(const char *field, size_t *bytes) {
    const char *found = NULL;
    while (*field != '\0') {
        field += strspn(field, " \t,");
        size_t length = strcspn(field, ",");
        const char *equals = memchr(field, '=', length);
        if (equals != NULL && equals - field == 7 && strncasecmp(field, "sha-256", 7) == 0) {
            found = equals + 1;
            *bytes = length - 8;
            while (*bytes != 0 && (found[*bytes - 1] == ' ' || found[*bytes - 1] == '\t'))
                (*bytes)--;
        }
        field += length;
    }
    return found;
}

enum tpd_status tpd_digest_parse(const char *field, unsigned char digest[SHA256_DIGEST_SIZE], bool *found,
                                 struct tpd_error *error) {
    size_t bytes = 0;
    const char *value = member(field, &bytes);
    *found = value != NULL;
    if (value == NULL)
        return TPD_OK;
    struct base64_decode_ctx context;
    base64_decode_init(&context);
    uint8_t decoded[BASE64_DECODE_LENGTH(BASE64_BYTES)];
    size_t decoded_bytes = sizeof decoded;
    if (bytes != BASE64_BYTES + 2 || value[0] != ':' || value[bytes - 1] != ':' ||
        !base64_decode_update(&context, &decoded_bytes, decoded, BASE64_BYTES, value + 1) || !base64_decode_final(&context) ||
        decoded_bytes != SHA256_DIGEST_SIZE)
        return tpd_fail(error, TPD_BAD_PARAMETER,
                        "Content-Digest: the value of sha-256 must be 32 bytes in base64 between colons, as in sha-256=:...:");
    memcpy(digest, decoded, SHA256_DIGEST_SIZE);
    return TPD_OK;
}

bool tpd_digest_is_wanted(const char *field) {
    size_t bytes = 0;
    const char *value = member(field, &bytes);
    return value != NULL && bytes != 0 && !(bytes == 1 && value[0] == '0'); /* a weight of 0 means "not this one" */
}

void tpd_digest_print(const unsigned char digest[SHA256_DIGEST_SIZE], char text[TPD_DIGEST_TEXT_BYTES]) {
    char encoded[BASE64_BYTES + 1] = "";
    base64_encode_raw(encoded, SHA256_DIGEST_SIZE, digest);
    (void)snprintf(text, TPD_DIGEST_TEXT_BYTES, "sha-256=:%.*s:", (int)BASE64_BYTES, encoded);
}
