/* inet.c -- see inet.h. */
#include "server/base/inet.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

static bool parse_port(const char *text, in_port_t *port) {
    unsigned value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value <= UINT16_MAX; at++)
        value = 10 * value + (unsigned)(*at - '0');
    *port = htons((uint16_t)value);
    return at != text && *at == '\0' && value <= UINT16_MAX;
}

bool tpd_inet_parse(const char *text, struct sockaddr_storage *to, socklen_t *bytes) {
    char host[INET6_ADDRSTRLEN + 1];
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const char *colon = strrchr(text, ':');
    in_port_t port;
    if (colon == NULL || !parse_port(colon + 1, &port))
        return false;
    bool bracketed = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
    const char *from = bracketed ? text + 1 : text;
    size_t length = (size_t)(colon - from) - (bracketed ? 1 : 0);
    if (length >= sizeof host)
        return false;
    memcpy(host, from, length);
    host[length] = '\0';
    memset(to, 0, sizeof *to);
    if (bracketed) {
        v6.sin6_port = port;
        *bytes = sizeof v6;
        if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
            return false;
        memcpy(to, &v6, sizeof v6);
        return true;
    }
    v4.sin_port = port;
    *bytes = sizeof v4;
    if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4.sin_addr) != 1)
        return false;
    memcpy(to, &v4, sizeof v4);
    return true;
}
