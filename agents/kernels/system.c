/* Virtlab system: the cost of kernel, disk and network operations in a guest.
 *
 *     system [--operations system-call,context-switch,fork,spawn,page-fault,pipe,
 *             file-create,random-read,random-write,round-trip,send,receive]
 *            [--seconds 0.5] [--repetitions 10] [--folder .] [--file-mib 64]
 *            [--peer HOST:PORT] [--most-bytes N] [--time-server HOST:PORT]
 *     system serve [HOST:]PORT
 *
 * Each operation is repeated for at least the minimum time; discarded batches warm up and
 * determine the number of repetitions. Every result is checked: blocks read back, exit
 * codes of children, echoed bytes. A wrong result is printed as WRONG. Without --peer the
 * network tests use the loopback. `serve` is the other end of --peer; it answers every
 * client and stores nothing.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "clock.h"
#include "options.h"
#include "second_process.h"
#include "files.h"
#include "peer.h"

#define MAX_FAULT_PAGES 4096
#define PIPE_BLOCK 65536
#define CHILD_EXIT_CODE 7

typedef struct {
    double seconds;
    const char *operations, *folder, *peer;
    size_t file_mib;
    common_t common;
} options_t;

/* The state of one test. */
typedef struct {
    const options_t *options;
    second_process_t second;
    pipes_t pipes;
    file_t file;
    peer_t peer;
    uint64_t turn, state;
    const char *self;
} work_t;

/* A test. `open` returns 0 and a reason if the test is impossible here; `loop` repeats
 * the operation and returns whether every result was right. */
typedef struct {
    const char *name;
    size_t bytes;
    double units_per_turn; /* operations, or 10^6 B, per turn of the loop */
    int (*open)(work_t *, const char **reason);
    int (*loop)(work_t *, uint64_t);
    void (*close)(work_t *);
} test_t;

static int open_nothing(work_t *work, const char **reason)
{
    (void)work;
    (void)reason;
    return 1;
}

static void close_nothing(work_t *work)
{
    (void)work;
}

static int call_system(work_t *work, uint64_t count)
{
    uint64_t correct = 0, turn;
#ifdef _WIN32
    HANDLE event = CreateEventA(NULL, TRUE, TRUE, NULL);
    for (turn = 0; turn < count; turn++)
        correct += WaitForSingleObject(event, 0) == WAIT_OBJECT_0;
    CloseHandle(event);
#else
    long parent = (long)getppid();
    for (turn = 0; turn < count; turn++)
#ifdef SYS_getppid
        correct += syscall(SYS_getppid) == parent;
#else
        correct += (long)getppid() == parent;
#endif
#endif
    (void)work;
    return correct == count;
}

/* A byte to the second process and back takes two context switches. */
static int open_switches(work_t *work, const char **reason)
{
    *reason = "no pipes or no second process";
    pin_to_one_processor(&work->second, 1);
    return open_pipes(&work->pipes)
        && start_second_process(&work->second, answer_bytes, &work->pipes);
}

static int switch_contexts(work_t *work, uint64_t count)
{
    uint64_t turn;
    unsigned char byte = 0, received;
    for (turn = 0; turn < count; turn++, byte = received) {
        if (!write_all(work->pipes.request[1], &byte, 1)
            || !read_all(work->pipes.reply[0], &received, 1)
            || received != (unsigned char)(byte + 1))
            return 0;
    }
    return 1;
}

static void close_pipes_and_process(work_t *work)
{
    stop_second_process(&work->second);
    close_pipes(&work->pipes);
}

static void close_switches(work_t *work)
{
    close_pipes_and_process(work);
    pin_to_one_processor(&work->second, 0);
}

static int open_pipe(work_t *work, const char **reason)
{
    *reason = "no pipes or no second process";
    work->turn = 0;
    return open_pipes(&work->pipes)
        && start_second_process(&work->second, write_blocks, &work->pipes);
}

/* Every block contains its number. */
static int read_pipe(work_t *work, uint64_t count)
{
    static unsigned char block[PIPE_BLOCK];
    for (; count > 0; count--, work->turn++)
        if (!read_all(work->pipes.reply[0], block, PIPE_BLOCK)
            || read_number(block) != work->turn)
            return 0;
    return 1;
}

static int open_fork(work_t *work, const char **reason)
{
    (void)work;
    *reason = "this system has no fork";
#ifdef _WIN32
    return 0;
#else
    return 1;
#endif
}

static int fork_children(work_t *work, uint64_t count)
{
#ifndef _WIN32
    for (; count > 0; count--) {
        pid_t child = fork();
        if (child == 0)
            _exit(CHILD_EXIT_CODE);
        if (child < 0 || wait_for_exit_code(child) != CHILD_EXIT_CODE)
            return 0;
    }
#endif
    (void)work;
    return count == 0;
}

static int spawn_children(work_t *work, uint64_t count)
{
    for (; count > 0; count--)
        if (spawn_self(work->self) != CHILD_EXIT_CODE)
            return 0;
    return 1;
}

static int open_spawn(work_t *work, const char **reason)
{
    *reason = "this program cannot start itself";
    return spawn_self(work->self) == CHILD_EXIT_CODE;
}

/* Touch new pages. If the kernel counts page faults, there must be as many. */
static int fault_pages(work_t *work, uint64_t count)
{
    size_t page = page_bytes(), i;
    uint64_t left = count, correct = 0, before = page_fault_count(), counted;
    while (left > 0) {
        size_t pages = left < MAX_FAULT_PAGES ? (size_t)left : MAX_FAULT_PAGES;
        volatile unsigned char *area = allocate_pages(pages * page);
        if (!area)
            return 0;
        for (i = 0; i < pages; i++) {
            area[i * page] = 1; /* write first: reading first would cause two faults */
            correct += area[i * page] + area[i * page + 1];
        }
        release_pages((void *)area, pages * page);
        left -= pages;
    }
    counted = page_fault_count() - before;
    (void)work;
    return correct == count && (counted == 0 || counted >= count - count / 100);
}

static int open_folder(work_t *work, const char **reason)
{
    *reason = "no file can be created in the folder";
    return create_and_delete(work->options->folder);
}

static int create_files(work_t *work, uint64_t count)
{
    for (; count > 0; count--)
        if (!create_and_delete(work->options->folder))
            return 0;
    return 1;
}

static int open_blocks(work_t *work, const char **reason)
{
    *reason = "the file cannot be written: the disk is full or read-only";
    return open_file(&work->file, work->options->folder, work->options->file_mib);
}

static uint64_t next_block(work_t *work)
{
    work->state
        = work->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (work->state >> 33) % work->file.blocks;
}

static int read_blocks_at_random(work_t *work, uint64_t count)
{
    for (; count > 0; count--) {
        uint64_t block = next_block(work);
        if (!read_block(&work->file, block) || read_number(work->file.block) != block)
            return 0;
    }
    return 1;
}

static int write_blocks_at_random(work_t *work, uint64_t count)
{
    uint64_t block = 0;
    for (; count > 0; count--) {
        block = next_block(work);
        write_number(work->file.block, block);
        write_number(work->file.block + 8, ++work->turn);
        if (!write_block(&work->file, block))
            return 0;
    }
    /* Check only the last block: one read does not matter among hundreds of writes. */
    return read_block(&work->file, block) && read_number(work->file.block) == block
        && read_number(work->file.block + 8) == work->turn;
}

static void close_blocks(work_t *work)
{
    close_file(&work->file);
}

static int open_network(work_t *work, const char **reason)
{
    *reason = work->options->peer ? "the peer does not answer" : "no loopback";
    return open_peer(&work->peer, work->options->peer);
}

static int make_round_trips(work_t *work, uint64_t count)
{
    return echo_bytes(&work->peer, count);
}

static int send_blocks(work_t *work, uint64_t count)
{
    return send_to_peer(&work->peer, count);
}

static int receive_blocks(work_t *work, uint64_t count)
{
    return receive_from_peer(&work->peer, count);
}

static void close_network(work_t *work)
{
    close_peer(&work->peer);
}

static const test_t TESTS[] = {
    {"system-call", 0, 1, open_nothing, call_system, close_nothing},
    {"context-switch", 0, 2, open_switches, switch_contexts, close_switches},
    {"fork", 0, 1, open_fork, fork_children, close_nothing},
    {"spawn", 0, 1, open_spawn, spawn_children, close_nothing},
    {"page-fault", 0, 1, open_nothing, fault_pages, close_nothing},
    {"pipe", PIPE_BLOCK, PIPE_BLOCK * 1e-6, open_pipe, read_pipe, close_pipes_and_process},
    {"file-create", 0, 1, open_folder, create_files, close_nothing},
    {"random-read", BLOCK, 1, open_blocks, read_blocks_at_random, close_blocks},
    {"random-write", BLOCK, 1, open_blocks, write_blocks_at_random, close_blocks},
    {"round-trip", 1, 1, open_network, make_round_trips, close_network},
    {"send", NET_BLOCK, NET_BLOCK * 1e-6, open_network, send_blocks, close_network},
    {"receive", NET_BLOCK, NET_BLOCK * 1e-6, open_network, receive_blocks, close_network},
};
#define TEST_COUNT ((int)(sizeof TESTS / sizeof *TESTS))

static options_t parse_options(int count, char **words)
{
    options_t options = {0.5, NULL, ".", NULL, 64, {10, 0, NULL}};
    int i;
    for (i = 1; i < count; i += 2) {
        const char *word = words[i], *value = option_value(words, count, i);
        if (strcmp(word, "--operations") == 0)
            options.operations = value;
        else if (strcmp(word, "--seconds") == 0)
            options.seconds = parse_number(word, value, 1e-3, 3600);
        else if (strcmp(word, "--folder") == 0)
            options.folder = value;
        else if (strcmp(word, "--file-mib") == 0)
            options.file_mib = (size_t)parse_number(word, value, 1, 1 << 20);
        else if (strcmp(word, "--peer") == 0)
            options.peer = value;
        else
            parse_common_option(&options.common, word, value);
    }
    return options;
}

/* Return whether a name is in a comma-separated list; NULL includes all names. */
static int is_in_list(const char *name, const char *names)
{
    size_t length = strlen(name);
    const char *match;
    if (!names)
        return 1;
    for (match = strstr(names, name); match; match = strstr(match + 1, name))
        if ((match == names || match[-1] == ',')
            && (match[length] == 0 || match[length] == ','))
            return 1;
    return 0;
}

static void check_operations(const char *names)
{
    char copy[512], *item;
    int i;
    if (!names)
        return;
    strncpy(copy, names, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    for (item = strtok(copy, ","); item; item = strtok(NULL, ",")) {
        for (i = 0; i < TEST_COUNT && strcmp(TESTS[i].name, item) != 0; i++)
            ;
        if (i == TEST_COUNT) {
            fprintf(stderr, "--operations: there is no %s.\n", item);
            exit(2);
        }
    }
}

/* Estimate how many turns take the minimum time. */
static uint64_t more_turns(uint64_t turns, double took_s, double least_s)
{
    if (took_s < least_s / 16)
        return turns * 8;
    return (uint64_t)((double)turns * least_s / took_s * 1.1) + 1;
}

/* Run one batch; return whether every result was right. */
static int run_batch(
    const test_t *test, work_t *work, server_t *server, uint64_t turns, duration_t *elapsed)
{
    stamp_t first = stamp(server);
    double began_s = now_s();
    int is_right = test->loop(work, turns);
    double ended_s = now_s();
    stamp_t last = stamp(server);
    *elapsed = between(server, first, began_s, ended_s, last);
    return is_right;
}

/* Warm up, and return how many turns take the minimum time; 0 after a wrong result. Two
 * batches must be long enough, because the very first often takes long. */
static uint64_t calibrate(const test_t *test, work_t *work)
{
    server_t no_server = NO_SERVER;
    duration_t elapsed = {0, 0, 0, 0};
    uint64_t turns = 1;
    int long_batches = 0;
    while (long_batches < 2) {
        if (!run_batch(test, work, &no_server, turns, &elapsed))
            return 0;
        long_batches = elapsed.local_s >= work->options->seconds ? long_batches + 1 : 0;
        if (!long_batches)
            turns = more_turns(turns, elapsed.local_s, work->options->seconds);
    }
    return turns;
}

/* Measure and print one row; return the number of turns for the next one. */
static uint64_t measure(
    const test_t *test, work_t *work, server_t *server, int repetition, uint64_t turns)
{
    for (;;) {
        duration_t elapsed;
        int is_right = run_batch(test, work, server, turns, &elapsed);
        if (!is_right || elapsed.local_s >= work->options->seconds) {
            printf(
                "row %-14s %6lu %10.0f %3d", test->name, (unsigned long)test->bytes,
                (double)turns, repetition);
            print_times(elapsed, (double)turns * test->units_per_turn);
            printf(" %s\n", is_right ? "right" : "WRONG");
            if (ferror(stdout)) /* nobody reads the output any more */
                exit(1);
            return is_right ? turns : 0;
        }
        turns = more_turns(turns, elapsed.local_s, work->options->seconds);
    }
}

static void run_test(
    const test_t *test, const options_t *options, const char *self, server_t *server)
{
    work_t work;
    const char *reason = "";
    uint64_t turns;
    int repetition;
    memset(&work, 0, sizeof work);
    work.options = options;
    work.self = self;
    work.state = 20100729;
    if (!test->open(&work, &reason)) {
        printf("skipped %s: %s\n", test->name, reason);
        test->close(&work);
        return;
    }
    turns = calibrate(test, &work);
    if (!turns)
        printf("failed %s: a wrong answer before anything was measured\n", test->name);
    for (repetition = 1; turns && repetition <= options->common.repetitions; repetition++)
        turns = measure(test, &work, server, repetition, turns);
    test->close(&work);
}

static void print_options(const options_t *options)
{
    print_machine();
    printf("page: %lu B\n", (unsigned long)page_bytes());
    printf("second process: %s\n", SECOND_PROCESS_KIND);
    printf("processors of context switches: %s\n", can_pin() ? "one" : "any");
    printf("file: %lu MiB\n", (unsigned long)options->file_mib);
    printf("page cache: %s\n", is_direct(options->folder) ? "no" : "yes");
    printf("network: %s\n", options->peer ? options->peer : "loopback");
    printf("minimum: %g s\nrepetitions: %d\n", options->seconds, options->common.repetitions);
    printf("units: operations/s; of pipe, send and receive MB/s, MB are 10^6 B\n");
    printf(
        "          operation  bytes      turns repetition local s     external s    bound s"
        "     local rate  external rate check\n");
}

int main(int count, char **words)
{
    options_t options;
    server_t server;
    int i;
    if (count == 3 && strcmp(words[1], "--exit-with") == 0)
        return atoi(words[2]);
    init_sockets();
    if (count == 3 && strcmp(words[1], "serve") == 0)
        return serve(words[2]);
    options = parse_options(count, words);
    check_operations(options.operations);
    server = print_header("system 1.0", options.common.time_server);
    server.longest_s = options.seconds / 2; /* two stamps take no longer than a row */
    print_options(&options);
    for (i = 0; i < TEST_COUNT; i++)
        if (is_in_list(TESTS[i].name, options.operations))
            run_test(&TESTS[i], &options, own_path(words[0]), &server);
    print_footer(&server, options.common.time_server);
    return 0;
}
