/* The probe: all our kernels in one program, for guests that have no Python.
 *
 *     probe linpack|memory|system [its options]
 *     probe system serve [HOST:]PORT
 *     probe all [--time-server HOST:PORT] [--folder .]
 *
 * What it prints is read by Virtlab as what the kernels print is: `push` it. `all` runs
 * the three, one after the other, in some five minutes.
 */
#include <stdio.h>
#include <string.h>

int linpack_main(int count, char **words);
int memory_main(int count, char **words);
int system_main(int count, char **words);

typedef struct {
    const char *name;
    int (*run)(int count, char **words);
    char *quick[7]; /* what `all` asks of it */
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

/* Whether a kernel is asked for a folder: only one has files. */
static int takes(const kernel_t *kernel, const char *option)
{
    return strcmp(option, "--time-server") == 0
        || (strcmp(option, "--folder") == 0 && strcmp(kernel->name, "system") == 0);
}

static int run_all(int count, char **words)
{
    int place, which, code = 0;
    if (count % 2 != 0 || count > 6)
        return usage();
    for (place = 2; place < count; place += 2)
        if (!takes(&KERNELS[KERNEL_COUNT - 1], words[place]))
            return usage();
    for (which = 0; which < KERNEL_COUNT && code == 0; which++) {
        char *own[16] = {words[0]};
        int length = 1;
        for (place = 0; KERNELS[which].quick[place]; place++)
            own[length++] = KERNELS[which].quick[place];
        for (place = 2; place < count; place += 2)
            if (takes(&KERNELS[which], words[place])) {
                own[length++] = words[place];
                own[length++] = words[place + 1];
            }
        code = KERNELS[which].run(length, own);
    }
    return code;
}

int main(int count, char **words)
{
    int which;
    if (count > 1 && strcmp(words[1], "all") == 0)
        return run_all(count, words);
    for (which = 0; count > 1 && which < KERNEL_COUNT; which++)
        if (strcmp(words[1], KERNELS[which].name) == 0) {
            words[1] = words[0];
            return KERNELS[which].run(count - 1, words + 1);
        }
    return usage();
}
