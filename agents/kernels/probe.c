/* The probe: all kernels in one program, for guests without Python.
 *
 *     probe linpack|memory|system [its options]
 *     probe system serve [HOST:]PORT
 *     probe all [--time-server HOST:PORT] [--folder .]
 *
 * `push` the output: Virtlab reads it like that of the kernels. `all` runs the three
 * kernels one after the other, in about five minutes.
 */
#include <stdio.h>
#include <string.h>

int linpack_main(int count, char **words);
int memory_main(int count, char **words);
int system_main(int count, char **words);

typedef struct {
    const char *name;
    int (*run)(int count, char **words);
    char *quick_options[7]; /* options for `all` */
} kernel_t;

static kernel_t KERNELS[] = {
    {"linpack", linpack_main, {"--sizes", "500,1000", "--budget-s", "120"}},
    {"memory", memory_main, {"--seconds", "0.1"}},
    {"system", system_main, {"--seconds", "0.5"}},
};
#define KERNEL_COUNT ((int)(sizeof KERNELS / sizeof *KERNELS))

static int usage(void)
{
    fprintf(
        stderr,
        "probe linpack|memory|system [options], probe system serve [HOST:]PORT,\n"
        "probe all [--time-server HOST:PORT] [--folder FOLDER]\n");
    return 2;
}

/* Return whether a kernel has an option: only `system` uses a folder. */
static int accepts(const kernel_t *kernel, const char *option)
{
    return strcmp(option, "--time-server") == 0
        || (strcmp(option, "--folder") == 0 && strcmp(kernel->name, "system") == 0);
}

static int run_all(int count, char **words)
{
    int i, kernel, code = 0;
    if (count % 2 != 0 || count > 6)
        return usage();
    for (i = 2; i < count; i += 2)
        if (!accepts(&KERNELS[KERNEL_COUNT - 1], words[i]))
            return usage();
    for (kernel = 0; kernel < KERNEL_COUNT && code == 0; kernel++) {
        char *arguments[16] = {words[0]};
        int length = 1;
        for (i = 0; KERNELS[kernel].quick_options[i]; i++)
            arguments[length++] = KERNELS[kernel].quick_options[i];
        for (i = 2; i < count; i += 2)
            if (accepts(&KERNELS[kernel], words[i])) {
                arguments[length++] = words[i];
                arguments[length++] = words[i + 1];
            }
        code = KERNELS[kernel].run(length, arguments);
    }
    return code;
}

int main(int count, char **words)
{
    int kernel;
    if (count > 1 && strcmp(words[1], "all") == 0)
        return run_all(count, words);
    for (kernel = 0; count > 1 && kernel < KERNEL_COUNT; kernel++)
        if (strcmp(words[1], KERNELS[kernel].name) == 0) {
            words[1] = words[0];
            return KERNELS[kernel].run(count - 1, words + 1);
        }
    return usage();
}
