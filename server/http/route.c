/* route.c -- the table of paths, and how one is found. */
#include <string.h>

#include "server/http/http_internal.h"

static const struct tpd_route routes[TPD_ROUTE_COUNT] = {
#define X(NAME, path, methods, ADMIN, handler, summary) [TPD_ROUTE_##NAME] = {path, methods, ADMIN, handler, summary},
#include "transposed/tbl/routes.def"
#undef X
};

const struct tpd_route *tpd_route_at(enum tpd_route_id id) {
    return &routes[id];
}

enum tpd_route_id tpd_route_find(const char *path, bool admin_only) {
    for (int i = 0; i < TPD_ROUTE_COUNT; i++)
        if ((routes[i].admin || !admin_only) && strcmp(routes[i].path, path) == 0)
            return (enum tpd_route_id)i;
    return TPD_ROUTE_COUNT;
}

const char *tpd_route_allow(unsigned methods) {
    static const char *const allow[] = {"", "GET, HEAD", "POST", "GET, HEAD, POST"};
    return allow[methods & (TPD_GET | TPD_POST)];
}
