/* leave.h -- what waits in a tile goes to the output: the part that all instruction sets share.
 *
 * The including file defines line_out(dst, src, stream): 64 bytes to a line boundary, from anywhere; stream: past the caches.
 *
 * A run has TPD_CPU_LINE bytes of lead before it in the tile: copied from the end of the same run in the block before, for the
 * line that both have a part of. Only whole lines go; a strip begins at the first line that begins in it and ends with the one
 * that its last byte is in, which the block's further bytes complete. The bytes of a matrix's first and last line are the
 * exceptions, because others share these.
 */
static void leave(struct tpd_cpu_waiting *waiting, size_t bytes) {
    enum { LINE = TPD_CPU_LINE };
    while (waiting->run < waiting->count && bytes > 0) {
        unsigned char *out = waiting->out + waiting->run * waiting->pitch_out;
        /* Everything is counted from the line that out is in. */
        const size_t place = (uintptr_t)out & (LINE - 1), length = place + waiting->bytes;
        const ptrdiff_t end = (ptrdiff_t)place + waiting->remain;
        const bool shared = waiting->run == waiting->ends && (ptrdiff_t)length >= end; /* its last line is */
        const unsigned char *staged = waiting->staged + waiting->run * waiting->pitch - place;
        out -= place;
        size_t from = waiting->at, to = length & ~(size_t)(LINE - 1);
        if (from == 0 && waiting->first && place != 0) {
            from = LINE;
            if (waiting->run == waiting->begins)
                memcpy(out + place, staged + place, (end < LINE ? (size_t)end : LINE) - place);
        }
        if ((ptrdiff_t)to > end)
            to = end <= 0 ? 0 : ((size_t)end + LINE - 1) & ~(size_t)(LINE - 1);
        if (shared)
            to = waiting->remain <= 0 ? 0 : (size_t)end & ~(size_t)(LINE - 1);
        const size_t all = to;
        if (to > from + bytes)
            to = from + ((bytes + LINE - 1) & ~(size_t)(LINE - 1));
        for (size_t i = from; i < to; i += LINE)
            line_out(out + i, staged + i, true);
        from = to > from ? to : from;
        bytes -= bytes < LINE ? bytes : to > waiting->at ? (to - waiting->at < bytes ? to - waiting->at : bytes) : 1;
        waiting->at = from;
        if (from < all)
            continue;
        if (shared && waiting->remain > 0 && end > (ptrdiff_t)from)
            memcpy(out + from, staged + from, (size_t)end - from);
        if (!waiting->last)
            memcpy(waiting->staged + waiting->run * waiting->pitch - LINE + waiting->other, staged + length - LINE, LINE);
        waiting->run++;
        waiting->at = 0;
    }
}

static void copy_lines(unsigned char *dst, const unsigned char *src, size_t bytes, bool stream) {
    for (size_t i = 0; i < bytes; i += TPD_CPU_LINE)
        line_out(dst + i, src + i, stream);
}

static void trade(unsigned char *dst, const unsigned char *src, size_t bytes, struct tpd_cpu_leaving *leaving) {
    enum { LINE = TPD_CPU_LINE };
    const struct tpd_cpu_leaving now = *leaving;
    size_t run = now.run;
    for (size_t i = 0; i < bytes; i += 2 * LINE) {
        line_out(dst + i, src + i, false);
        if (i + LINE < bytes)
            line_out(dst + i + LINE, src + i + LINE, false);
        if (run == now.runs)
            continue;
        unsigned char *out = now.out + run * now.pitch_out;
        const unsigned char *staged = now.staged + run * now.pitch;
        line_out(out, staged, true);
        if (now.bytes > LINE)
            line_out(out + LINE, staged + LINE, true);
        run++;
    }
    leaving->run = run;
}
