/* cuda_status.c -- the one place where CUDA's codes become ours. */
#include "kernels/cuda/cuda_status.h"

#include <stdatomic.h>

/* The runtime's numbers that need words of their own (driver_types.h). */
enum {
    CODE_MEMORY_ALLOCATION = 2,
    CODE_INSUFFICIENT_DRIVER = 35,
    CODE_NO_DEVICE = 100,
    CODE_NO_KERNEL_IMAGE = 209,
    CODE_DRIVER_MISMATCH = 803
};

/* After these every later call on the context fails with the same code; only a new process helps. */
static const int sticky[] = {
    214, /* uncorrectable ECC error */
    220, /* uncorrectable NVLink error */
    226, /* contained */
    700, /* illegal address */
    702, /* launch timeout */
    710, /* assert */
    714, /* hardware stack error */
    715, /* illegal instruction */
    716, /* misaligned address */
    717, /* invalid address space */
    718, /* invalid program counter */
    719, /* launch failure */
    721, /* external device */
    810, /* MPS client terminated */
    911, /* stream capture of another kind of context */
};

bool tpd_cuda_is_sticky(int code) {
    for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
        if (sticky[i] == code)
            return true;
    return false;
}

enum tpd_status tpd_cuda_status(int code) {
    if (code == 0)
        return TPD_OK;
    if (code == CODE_MEMORY_ALLOCATION)
        return TPD_NO_MEMORY;
    return tpd_cuda_is_sticky(code) ? TPD_DEVICE_LOST : TPD_DEVICE_FAULT;
}

enum { CODES_MOST = 64 };

static struct {
    atomic_int code; /* 0: free */
    _Atomic(const char *) name;
    atomic_uint_fast64_t count;
} seen[CODES_MOST];

/* Rows are only ever taken, never given back, so the first free one ends the search. */
static void count_code(const struct tpd_cuda_calls *calls, int code) {
    for (uint32_t i = 0; i < CODES_MOST; i++) {
        int owner = 0;
        if (atomic_compare_exchange_strong(&seen[i].code, &owner, code) || owner == code || i + 1 == CODES_MOST) {
            if (owner == 0)
                atomic_store(&seen[i].name, calls->error_name(code));
            atomic_fetch_add(&seen[i].count, 1);
            return;
        }
    }
}

uint32_t tpd_cuda_errors(struct tpd_device_error *list, uint32_t most) {
    uint32_t filled = 0;
    for (; filled < most && filled < CODES_MOST; filled++) {
        int code = atomic_load(&seen[filled].code);
        if (code == 0)
            break;
        const char *name = atomic_load(&seen[filled].name);
        list[filled].code = code;
        list[filled].name = name != NULL ? name : "cudaErrorUnknown"; /* another thread is just filling this row */
        list[filled].count = atomic_load(&seen[filled].count);
    }
    return filled;
}

enum tpd_status tpd_cuda_fail(const struct tpd_cuda_calls *calls, int code, uint32_t device, const char *doing,
                              struct tpd_error *error) {
    count_code(calls, code);
    enum tpd_status status = tpd_cuda_status(code);
    if (status != TPD_DEVICE_LOST) {
        (void)calls->last_error(); /* else the next call that asks would find this one's error */
        if (calls->last_error() != 0)
            status = TPD_DEVICE_LOST;
    }
    if (code == CODE_NO_KERNEL_IMAGE)
        return tpd_fail(error, status,
                        "cuda:%u: %s: this program has no device code for this GPU; build it again with "
                        "-DTRANSPOSED_CUDA_ARCHITECTURES set to the GPU's compute capability",
                        device, doing);
    return tpd_fail(error, status, "cuda:%u: %s: %s (%s, code %d)%s", device, doing, calls->error_text(code),
                    calls->error_name(code), code,
                    status == TPD_DEVICE_LOST ? "; the GPU stays lost until the process is restarted" : "");
}

void tpd_cuda_no_device(const struct tpd_cuda_calls *calls, int code, struct tpd_error *error) {
    int driver = 0, runtime = 0;
    if (calls->driver_version(&driver) != 0)
        driver = 0;
    if (calls->runtime_version(&runtime) != 0)
        runtime = 0;
    (void)calls->last_error();
    if (code == CODE_INSUFFICIENT_DRIVER && driver == 0)
        (void)tpd_fail(error, TPD_UNKNOWN_DEVICE,
                       "no NVIDIA driver is loaded: install one (nvidia-smi must answer), and start a container with --gpus all");
    else if (code == CODE_INSUFFICIENT_DRIVER)
        (void)tpd_fail(error, TPD_UNKNOWN_DEVICE,
                       "the NVIDIA driver is too old: it knows CUDA %d.%d and this program needs %d.%d; update the driver",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    else if (code == CODE_NO_DEVICE)
        (void)tpd_fail(
            error, TPD_UNKNOWN_DEVICE,
            "the NVIDIA driver is loaded and shows no GPU: look at nvidia-smi, CUDA_VISIBLE_DEVICES and the container's --gpus");
    else if (code == CODE_DRIVER_MISMATCH)
        (void)tpd_fail(
            error, TPD_UNKNOWN_DEVICE,
            "the NVIDIA driver's kernel module and library are of different versions: restart the machine or reload the module");
    else
        (void)tpd_fail(error, TPD_UNKNOWN_DEVICE, "CUDA does not start: %s (%s, code %d); look at nvidia-smi and the kernel log",
                       calls->error_text(code), calls->error_name(code), code);
}
