/* run.h -- what the files of `transposed run` share: the command line as it was understood, and the two roads.
 *
 * A table of text that stays one goes by server/table, which maps the file; everything else through codec and engine.
 */
#ifndef TPD_RUN_H
#define TPD_RUN_H

#include "server/cmd/files.h"
#include "server/pack/pack.h"
#include "transposed/engine.h"

enum {
    TPD_RUN_CHUNK_BYTES = 1 << 20,
    TPD_RUN_HEAD_BYTES = 64, /* what a codec's sniff() looks at */
    TPD_RUN_THREADS_MOST = 1024
};

/* A plain file as one block of text, mapped: zeros lie behind it, and a page that may be read before it. It lives as long as the
 * block; blocks that replace that are `behind`'s. */
struct tpd_run_mapping {
    struct tpd_memory memory;
    struct tpd_memory *behind; /* borrows */
    struct tpd_block block;
    size_t whole_bytes;
};

struct tpd_run {
    const char *in, *out;
    bool verbose, names_device;
    uint64_t threads, memory_bytes; /* 0: all cores; half of the machine */
    struct tpd_decode_options decode;
    struct tpd_config config;
    struct tpd_engine *engine;
    struct tpd_source source;
    enum tpd_packing packing_in, packing_out;
    struct tpd_job job;
    unsigned char *chunk; /* TPD_RUN_CHUNK_BYTES; its first head_bytes are the input's */
    size_t head_bytes;
    struct tpd_run_mapping mapping; /* outlives the job */
    struct tpd_sink sink;
    struct tpd_packer *packer; /* of the sink */
};

/* A format by name, for --from and --to. */
enum tpd_status tpd_run_set_format(const char *option, const char *text, enum tpd_codec_id *format,
                                   struct tpd_error *error) TPD_CHECKED;
/* Fails with TPD_BAD_PARAMETER where nothing but the output's suffix could name its format, and names none. */
enum tpd_status tpd_run_check_suffix(const struct tpd_run *run, struct tpd_error *error) TPD_CHECKED;
/* Reads the input's first bytes into chunk, and settles the formats and packings that the command line left open. */
enum tpd_status tpd_run_look(struct tpd_run *run, struct tpd_error *error) TPD_CHECKED;

/* Input as it is behind its packing, from the first byte on, to take(). */
enum tpd_status tpd_run_receive(struct tpd_run *run, tpd_pack_take *take, void *self, struct tpd_error *error) TPD_CHECKED;
/* Output, packed where its name says so. open before the first byte, close always. */
enum tpd_status tpd_run_open_output(struct tpd_run *run, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_run_put(void *run, const void *bytes, size_t count, struct tpd_error *error) TPD_CHECKED;
enum tpd_status tpd_run_close_output(struct tpd_run *run, enum tpd_status status, struct tpd_error *error) TPD_CHECKED;

/* Maps the input for the codec, where it is a plain file; false: it is to be read. */
bool tpd_run_map(struct tpd_run *run, struct tpd_memory *behind);

/* Does the job go by server/table, and does it go there. */
bool tpd_run_is_table(const struct tpd_run *run);
enum tpd_status tpd_run_table(struct tpd_run *run, struct tpd_error *error) TPD_CHECKED;
uint32_t tpd_run_threads(const struct tpd_run *run);

#endif
