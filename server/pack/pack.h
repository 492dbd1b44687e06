/* pack.h -- gzip and zstd, as streams: for files of `transposed run` and for Content-Encoding.
 *
 * Owns: what open() makes, until close(). Threads: one at a time each.
 * Fails with: TPD_MALFORMED, TPD_TRUNCATED, TPD_TRAILING, TPD_NO_MEMORY, and with whatever take() answers.
 * Ceiling: none of its own on what comes out: take() says when it is too much, and is asked after 256 KiB at most.
 */
#ifndef TPD_PACK_H
#define TPD_PACK_H

#include "transposed/status.h"

enum tpd_packing { TPD_PACKING_NONE, TPD_PACKING_GZIP, TPD_PACKING_ZSTD, TPD_PACKING_COUNT };

const char *tpd_packing_name(enum tpd_packing packing); /* "identity", "gzip", "zstd": as Content-Encoding has it */
/* By a coding's name (x-gzip too), by a file's name, by the first bytes. TPD_PACKING_COUNT: a name that is none of them. */
enum tpd_packing tpd_packing_by_name(const char *name);
enum tpd_packing tpd_packing_by_path(const char *path);
enum tpd_packing tpd_packing_by_magic(const unsigned char *head, size_t head_bytes);
/* Bytes of the path without the packing's suffix: "a.csv.gz" is a.csv, packed. */
size_t tpd_packing_bare(const char *path);
/* What Accept-Encoding likes best: NONE without a word, where nothing else is liked or identity is liked better. */
enum tpd_packing tpd_packing_accept(const char *accept);

typedef enum tpd_status tpd_pack_take(void *self, const void *bytes, size_t count, struct tpd_error *error);

struct tpd_packer;
/* unpack: takes a packed stream apart; else makes one. */
enum tpd_status tpd_packer_open(enum tpd_packing packing, bool unpack, tpd_pack_take *take, void *self,
                                struct tpd_packer **packer, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_packer_push(struct tpd_packer *packer, const void *bytes, size_t count, struct tpd_error *error) TPD_CHECKED;
/* The stream's end: what is left comes out; a packed one that goes on is truncated. */
enum tpd_status tpd_packer_finish(struct tpd_packer *packer, struct tpd_error *error) TPD_CHECKED;
void tpd_packer_close(struct tpd_packer *packer); /* NULL is ignored */

#endif
