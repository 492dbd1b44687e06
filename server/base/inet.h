/* inet.h -- ADDRESS:PORT and [IPv6]:PORT as text. */
#ifndef TPD_INET_H
#define TPD_INET_H

#include <stdbool.h>
#include <sys/socket.h>

/* Numbers only ("localhost" stands for 127.0.0.1), so that nothing waits for a name server. False when it is neither form. */
bool tpd_inet_parse(const char *text, struct sockaddr_storage *to, socklen_t *bytes);

#endif
