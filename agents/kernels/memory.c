/* Virtlab memory: bandwidth of caches and memory, in the shape of RAMspeed.
 *
 *     memory [--blocks-kib 1,2,...,32768] [--array-mib 64] [--seconds 1]
 *            [--repetitions 10] [--operations read,write,copy,scale,add,triad]
 *            [--types integer,floating] [--most-bytes N] [--time-server HOST:PORT]
 *
 * read and write go over one block again and again; copy, scale, add and triad over
 * arrays that no cache holds. Counted is what the program reads and writes: one array
 * for read and write, two for copy and scale, three for add and triad. Each is repeated
 * until it took the minimum time, and what was read or is left in memory is checked.
 */
#include "clock.h"
#include "options.h"

#define FACTOR 3
#define FIRST_WRITTEN 5
/* Numbers between arrays: none begins at the same place of a page as another. */
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
    size_t blocks[MOST_NUMBERS];
    int block_count;
    size_t array_bytes;
    double seconds;
    const char *operations, *types;
    common_t common;
} wishes_t;

static void read_blocks(wishes_t *wishes, const char *word, const char *value)
{
    int place;
    wishes->block_count = numbers_of(word, value, 1 << 20, wishes->blocks);
    for (place = 0; place < wishes->block_count; place++)
        wishes->blocks[place] *= 1024;
}

static wishes_t read_wishes(int count, char **words)
{
    wishes_t wishes = {{0}, 0, (size_t)64 << 20, 1, "read,write,copy,scale,add,triad",
                       "integer,floating", {10, 0, NULL}};
    int place;
    for (place = 0; place < 16; place++)
        wishes.blocks[wishes.block_count++] = (size_t)1024 << place;
    for (place = 1; place < count; place += 2) {
        const char *word = words[place], *value = value_of(words, count, place);
        if (strcmp(word, "--blocks-kib") == 0)
            read_blocks(&wishes, word, value);
        else if (strcmp(word, "--array-mib") == 0)
            wishes.array_bytes = (size_t)number_of(word, value, 1, 1 << 20) << 20;
        else if (strcmp(word, "--seconds") == 0)
            wishes.seconds = number_of(word, value, 1e-3, 3600);
        else if (strcmp(word, "--operations") == 0)
            wishes.operations = value;
        else if (strcmp(word, "--types") == 0)
            wishes.types = value;
        else
            read_common(&wishes.common, word, value);
    }
    return wishes;
}

/* How many passes should take the minimum time. */
static uint64_t more(uint64_t passes, double took_s, double least_s)
{
    if (took_s < least_s / 16)
        return passes * 8;
    return (uint64_t)((double)passes * least_s / took_s * 1.1) + 1;
}

/* Repeat it until it took the minimum time: what was too short warmed the caches up.
 * The server is not asked before it is known how many passes that takes. */
static uint64_t measure(
    const type_t *type, int operation, size_t bytes, int turn, uint64_t passes,
    const wishes_t *wishes, server_t *server, void *memory)
{
    size_t count = bytes / type->bytes;
    server_t nobody = NOBODY;
    int is_known = turn > 1;
    for (;;) {
        server_t *asked = is_known ? server : &nobody;
        stamp_t first = stamp(asked);
        double began_s = now_s();
        double sum = type->sweep(operation, memory, count, passes);
        double ended_s = now_s();
        stamp_t last = stamp(asked);
        if (is_known && ended_s - began_s >= wishes->seconds) {
            outcome_t outcome = type->check(operation, memory, count, passes, sum);
            printf(
                "row %-5s %-8s %10lu %3d", OPERATIONS[operation].name, type->name,
                (unsigned long)bytes, turn);
            print_times(
                between(server, first, began_s, ended_s, last),
                (double)passes * (double)bytes * OPERATIONS[operation].arrays * 1e-6);
            printf(" %.17g %s\n", outcome.sum, outcome.is_right ? "right" : "WRONG");
            return passes;
        }
        is_known = ended_s - began_s >= wishes->seconds / 16;
        passes = more(passes, ended_s - began_s, wishes->seconds);
    }
}

static void repeat(
    const type_t *type, int operation, size_t bytes, const wishes_t *wishes,
    server_t *server, void *memory)
{
    uint64_t passes = 1;
    int turn;
    type->fill(memory, bytes / type->bytes);
    for (turn = 1; turn <= wishes->common.repetitions; turn++)
        passes = measure(
            type, operation, bytes, turn, passes, wishes, server, memory);
}

static void run_operation(
    const type_t *type, int operation, const wishes_t *wishes, server_t *server,
    void *memory)
{
    int place;
    if (operation > WRITE)
        repeat(type, operation, wishes->array_bytes, wishes, server, memory);
    else
        for (place = 0; place < wishes->block_count; place++)
            repeat(type, operation, wishes->blocks[place], wishes, server, memory);
}

/* For three of the largest. */
static size_t bytes_needed(const wishes_t *wishes)
{
    size_t most = wishes->array_bytes;
    int place;
    for (place = 0; place < wishes->block_count; place++)
        if (wishes->blocks[place] > most)
            most = wishes->blocks[place];
    return 3 * (most + GAP * sizeof(double));
}

static void print_wishes(const wishes_t *wishes)
{
    printf("bytes of a number: %d integer, %d floating\n", (int)sizeof(word_t),
           (int)sizeof(double));
    printf("array: %lu MiB\nminimum: %g s\nrepetitions: %d\n",
           (unsigned long)(wishes->array_bytes >> 20), wishes->seconds,
           wishes->common.repetitions);
    printf("units: MB are 10^6 B read and written by the program\n");
    printf(
        "    operation type bytes repetition    local s     external s    bound s"
        "     local MB/s  external MB/s check\n");
}

int main(int count, char **words)
{
    wishes_t wishes = read_wishes(count, words);
    size_t bytes = bytes_needed(&wishes);
    int is_room = wishes.common.most_bytes == 0 || (double)bytes <= wishes.common.most_bytes;
    void *memory = is_room ? malloc(bytes) : NULL;
    server_t server;
    int type, operation;
    if (!memory) {
        fprintf(stderr, "There are no %lu bytes: say --array-mib.\n", (unsigned long)bytes);
        return 1;
    }
    server = introduce("memory 1.0", wishes.common.time_server);
    server.longest_s = wishes.seconds / 2; /* both together no longer than a row */
    print_wishes(&wishes);
    for (type = 0; type < 2; type++)
        for (operation = 0; operation < OPERATION_COUNT; operation++)
            if (strstr(wishes.types, TYPES[type].name)
                && strstr(wishes.operations, OPERATIONS[operation].name))
                run_operation(&TYPES[type], operation, &wishes, &server, memory);
    free(memory);
    conclude(&server, wishes.common.time_server);
    return 0;
}
