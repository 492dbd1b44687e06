/* consumer.c -- a program that uses the installed library alone, the short way and through a device kept open. */
#include <stdio.h>
#include <transposed/transposed.h>

int main(void) {
    const float in[6] = {1, 2, 3, 4, 5, 6};
    float out[6] = {0}, again[6] = {0};
    struct tpd_matrix matrix = {.rows = 2, .cols = 3, .batch = 1, .itemsize = 4, .dtype = TPD_DTYPE_FLOAT32};
    struct tpd_error error;
    if (tpd_transpose(&matrix, in, out, &error) != TPD_OK)
        return fprintf(stderr, "%s\n", error.text), 1;

    const struct tpd_backend *cpu = tpd_backend_at(TPD_BACKEND_CPU);
    struct tpd_device_options options = {.cpu_threads = 2};
    struct tpd_device *device;
    struct tpd_outcome outcome;
    struct tpd_task task = {.matrix = matrix, .in = in, .out = again, .strategy = TPD_STRATEGY_AUTO};
    if (cpu->open(0, &options, &device, &error) != TPD_OK || cpu->run(device, &task, &outcome, &error) != TPD_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    cpu->close(device);

    printf("%s %s:", tpd_version(), outcome.strategy);
    for (int i = 0; i < 6; i++)
        printf(" %g", out[i] == again[i] ? (double)out[i] : -1.0);
    printf("\n");
    return 0;
}
