/* regression_driver.c -- replays a folder of inputs through a fuzz target, without a fuzzer: the corpus and every input that
 * once broke something run in ordinary ctest. The name of the input is printed before it runs, so that a crash has one. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { INPUT_MOST = 1 << 20 };

int main(int count, char **arguments) {
    int inputs = 0;
    for (int i = 1; i < count; i++) {
        DIR *dir = opendir(arguments[i]);
        if (dir == NULL) {
            perror(arguments[i]);
            return EXIT_FAILURE;
        }
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", arguments[i], entry->d_name);
            FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
            if (file == NULL)
                continue;
            static uint8_t bytes[INPUT_MOST];
            size_t length = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            puts(path);
            fflush(stdout);
            uint8_t *exact = malloc(length != 0 ? length : 1); /* so that a sanitizer sees one byte too far */
            if (exact == NULL)
                return EXIT_FAILURE;
            for (size_t b = 0; b < length; b++)
                exact[b] = bytes[b];
            LLVMFuzzerTestOneInput(exact, length);
            free(exact);
            inputs++;
        }
        closedir(dir);
    }
    printf("%d inputs\n", inputs);
    return inputs != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
