/* Virtlab memory: bandwidth of caches and memory, with the operations of RAMspeed.
 *
 *     memory [--blocks-kib 1,2,...,32768] [--array-mib 64] [--seconds 1]
 *            [--repetitions 10] [--operations read,write,copy,scale,add,triad]
 *            [--types integer,floating] [--most-bytes N] [--time-server HOST:PORT]
 *
 * read and write repeat over one block; copy, scale, add and triad use arrays that exceed
 * all caches. The bytes counted are those that the program reads and writes: one array
 * for read and write, two for copy and scale, three for add and triad. Each operation is
 * repeated for at least the minimum time, and its result is checked.
 */
#include "clock.h"
#include "options.h"

#define FACTOR 3
#define FIRST_WRITTEN 5
/* Numbers between arrays, so that no two arrays start at the same offset in a page. */
#define GAP 136

enum { READ, WRITE, COPY, SCALE, ADD, TRIAD, OPERATION_COUNT };

typedef struct {
    double sum;
    int is_right;
} outcome_t;

typedef size_t word_t;
#define REAL word_t
#define NAME(x) x##_integer
#include "sweep.h"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) x##_floating
#include "sweep.h"

typedef struct {
    const char *name;
    int arrays;
} operation_t;

static const operation_t OPERATIONS[] = {
    {"read", 1}, {"write", 1}, {"copy", 2}, {"scale", 2}, {"add", 3}, {"triad", 3},
};

typedef struct {
    const char *name;
    size_t bytes;
    void (*fill)(void *, size_t);
    double (*sweep)(int, void *, size_t, uint64_t);
    outcome_t (*check)(int, const void *, size_t, uint64_t, double);
} type_t;

static const type_t TYPES[] = {
    {"integer", sizeof(word_t), fill_integer, sweep_integer, check_integer},
    {"floating", sizeof(double), fill_floating, sweep_floating, check_floating},
};

typedef struct {
    size_t blocks[MAX_NUMBERS];
    int block_count;
    size_t array_bytes;
    double seconds;
    const char *operations, *types;
    common_t common;
} options_t;

static void read_blocks(options_t *options, const char *word, const char *value)
{
    int i;
    options->block_count = parse_numbers(word, value, 1 << 20, options->blocks);
    for (i = 0; i < options->block_count; i++)
        options->blocks[i] *= 1024;
}

static options_t parse_options(int count, char **words)
{
    options_t options = {{0}, 0, (size_t)64 << 20, 1, "read,write,copy,scale,add,triad",
                       "integer,floating", {10, 0, NULL}};
    int i;
    for (i = 0; i < 16; i++)
        options.blocks[options.block_count++] = (size_t)1024 << i;
    for (i = 1; i < count; i += 2) {
        const char *word = words[i], *value = option_value(words, count, i);
        if (strcmp(word, "--blocks-kib") == 0)
            read_blocks(&options, word, value);
        else if (strcmp(word, "--array-mib") == 0)
            options.array_bytes = (size_t)parse_number(word, value, 1, 1 << 20) << 20;
        else if (strcmp(word, "--seconds") == 0)
            options.seconds = parse_number(word, value, 1e-3, 3600);
        else if (strcmp(word, "--operations") == 0)
            options.operations = value;
        else if (strcmp(word, "--types") == 0)
            options.types = value;
        else
            parse_common_option(&options.common, word, value);
    }
    return options;
}

/* Estimate how many passes take the minimum time. */
static uint64_t more_passes(uint64_t passes, double took_s, double least_s)
{
    if (took_s < least_s / 16)
        return passes * 8;
    return (uint64_t)((double)passes * least_s / took_s * 1.1) + 1;
}

/* Repeat until a batch takes the minimum time; shorter batches warm up the caches. The
 * server is queried only once the number of passes is nearly known. */
static uint64_t measure(
    const type_t *type, int operation, size_t bytes, int repetition, uint64_t passes,
    const options_t *options, server_t *server, void *memory)
{
    size_t count = bytes / type->bytes;
    server_t no_server = NO_SERVER;
    int is_known = repetition > 1;
    for (;;) {
        server_t *queried = is_known ? server : &no_server;
        stamp_t first = stamp(queried);
        double began_s = now_s();
        double sum = type->sweep(operation, memory, count, passes);
        double ended_s = now_s();
        stamp_t last = stamp(queried);
        if (is_known && ended_s - began_s >= options->seconds) {
            outcome_t outcome = type->check(operation, memory, count, passes, sum);
            printf(
                "row %-5s %-8s %10lu %3d", OPERATIONS[operation].name, type->name,
                (unsigned long)bytes, repetition);
            print_times(
                between(server, first, began_s, ended_s, last),
                (double)passes * (double)bytes * OPERATIONS[operation].arrays * 1e-6);
            printf(" %.17g %s\n", outcome.sum, outcome.is_right ? "right" : "WRONG");
            return passes;
        }
        is_known = ended_s - began_s >= options->seconds / 16;
        passes = more_passes(passes, ended_s - began_s, options->seconds);
    }
}

static void repeat(
    const type_t *type, int operation, size_t bytes, const options_t *options,
    server_t *server, void *memory)
{
    uint64_t passes = 1;
    int repetition;
    type->fill(memory, bytes / type->bytes);
    for (repetition = 1; repetition <= options->common.repetitions; repetition++)
        passes = measure(
            type, operation, bytes, repetition, passes, options, server, memory);
}

static void run_operation(
    const type_t *type, int operation, const options_t *options, server_t *server,
    void *memory)
{
    int i;
    if (operation > WRITE)
        repeat(type, operation, options->array_bytes, options, server, memory);
    else
        for (i = 0; i < options->block_count; i++)
            repeat(type, operation, options->blocks[i], options, server, memory);
}

/* Return the memory for three arrays of the largest size. */
static size_t bytes_needed(const options_t *options)
{
    size_t most = options->array_bytes;
    int i;
    for (i = 0; i < options->block_count; i++)
        if (options->blocks[i] > most)
            most = options->blocks[i];
    return 3 * (most + GAP * sizeof(double));
}

static void print_options(const options_t *options)
{
    printf("bytes of a number: %d integer, %d floating\n", (int)sizeof(word_t),
           (int)sizeof(double));
    printf("array: %lu MiB\nminimum: %g s\nrepetitions: %d\n",
           (unsigned long)(options->array_bytes >> 20), options->seconds,
           options->common.repetitions);
    printf("units: MB are 10^6 B read and written by the program\n");
    printf(
        "    operation type bytes repetition    local s     external s    bound s"
        "     local MB/s  external MB/s check\n");
}

int main(int count, char **words)
{
    options_t options = parse_options(count, words);
    size_t bytes = bytes_needed(&options);
    int has_memory = options.common.most_bytes == 0 || (double)bytes <= options.common.most_bytes;
    void *memory = has_memory ? malloc(bytes) : NULL;
    server_t server;
    int type, operation;
    if (!memory) {
        fprintf(
            stderr, "There is not enough memory for %lu bytes: lower --array-mib.\n",
            (unsigned long)bytes);
        return 1;
    }
    server = print_header("memory 1.0", options.common.time_server);
    server.longest_s = options.seconds / 2; /* two stamps take no longer than a row */
    print_options(&options);
    for (type = 0; type < 2; type++)
        for (operation = 0; operation < OPERATION_COUNT; operation++)
            if (strstr(options.types, TYPES[type].name)
                && strstr(options.operations, OPERATIONS[operation].name))
                run_operation(&TYPES[type], operation, &options, &server, memory);
    free(memory);
    print_footer(&server, options.common.time_server);
    return 0;
}
