/* Virtlab system: what a guest pays where it needs its kernel, its disk, its network.
 *
 *     system [--operations system-call,context-switch,fork,spawn,page-fault,pipe,
 *             file-create,random-read,random-write,round-trip,send,receive]
 *            [--seconds 0.5] [--repetitions 10] [--folder .] [--file-mib 64]
 *            [--peer HOST:PORT] [--most-bytes N] [--time-server HOST:PORT]
 *     system serve [HOST:]PORT
 *
 * Each operation is repeated until it took the minimum time: batches that are thrown away
 * warm up and find how often. Every answer is looked at: what was read was written, a child
 * ended with what it was told, a byte came back as the next one. What was wrong says so,
 * and is no result. Without --peer the network is this machine's own; `serve` is the
 * other side of --peer, answers whoever reaches it, and stores nothing.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "clock.h"
#include "options.h"
#include "beside.h"
#include "files.h"
#include "peer.h"

#define PAGES_AT_ONCE 4096
#define PIPE_BLOCK 65536
#define CHILD_SAYS 7

typedef struct {
    double seconds;
    const char *operations, *folder, *peer;
    size_t file_mib;
    common_t common;
} wishes_t;

/* What a test needs while it runs; each has its own. */
typedef struct {
    const wishes_t *wishes;
    beside_t beside;
    pipes_t pipes;
    file_t file;
    peer_t peer;
    uint64_t turn, state;
    const char *self;
} work_t;

/* How a test is opened (0: it cannot be done here, `why` says it), how often it does
 * what it does (whether every answer was right), and how it is closed. */
typedef struct {
    const char *name;
    size_t bytes;
    double each; /* operations, or 10^6 B, in one turn of its loop */
    int (*open)(work_t *, const char **why);
    int (*loop)(work_t *, uint64_t);
    void (*close)(work_t *);
} test_t;

static int open_nothing(work_t *work, const char **why)
{
    (void)work;
    (void)why;
    return 1;
}

static void close_nothing(work_t *work)
{
    (void)work;
}

static int call_system(work_t *work, uint64_t count)
{
    uint64_t right = 0, turn;
#ifdef _WIN32
    HANDLE event = CreateEventA(NULL, TRUE, TRUE, NULL);
    for (turn = 0; turn < count; turn++)
        right += WaitForSingleObject(event, 0) == WAIT_OBJECT_0;
    CloseHandle(event);
#else
    long parent = (long)getppid();
    for (turn = 0; turn < count; turn++)
#ifdef SYS_getppid
        right += syscall(SYS_getppid) == parent;
#else
        right += (long)getppid() == parent;
#endif
#endif
    (void)work;
    return right == count;
}

/* A byte goes there and comes back as the next one: two switches. */
static int open_switches(work_t *work, const char **why)
{
    *why = "no pipes or no second process";
    stay_on_one(&work->beside, 1);
    return open_pipes(&work->pipes)
        && begin_beside(&work->beside, answer_bytes, &work->pipes);
}

static int switch_contexts(work_t *work, uint64_t count)
{
    uint64_t turn;
    unsigned char byte = 0, got;
    for (turn = 0; turn < count; turn++, byte = got) {
        if (!write_whole(work->pipes.there[1], &byte, 1)
            || !read_whole(work->pipes.back[0], &got, 1)
            || got != (unsigned char)(byte + 1))
            return 0;
    }
    return 1;
}

static void close_pipes_beside(work_t *work)
{
    end_beside(&work->beside);
    close_pipes(&work->pipes);
}

static void close_switches(work_t *work)
{
    close_pipes_beside(work);
    stay_on_one(&work->beside, 0);
}

static int open_pipe(work_t *work, const char **why)
{
    *why = "no pipes or no second process";
    work->turn = 0;
    return open_pipes(&work->pipes)
        && begin_beside(&work->beside, write_blocks, &work->pipes);
}

/* Every block carries its number. */
static int read_pipe(work_t *work, uint64_t count)
{
    static unsigned char block[PIPE_BLOCK];
    for (; count > 0; count--, work->turn++)
        if (!read_whole(work->pipes.back[0], block, PIPE_BLOCK)
            || number_in(block) != work->turn)
            return 0;
    return 1;
}

static int open_fork(work_t *work, const char **why)
{
    (void)work;
    *why = "this system has no fork";
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
            _exit(CHILD_SAYS);
        if (child < 0 || exit_code_of(child) != CHILD_SAYS)
            return 0;
    }
#endif
    (void)work;
    return count == 0;
}

static int spawn_children(work_t *work, uint64_t count)
{
    for (; count > 0; count--)
        if (spawned(work->self) != CHILD_SAYS)
            return 0;
    return 1;
}

static int open_spawn(work_t *work, const char **why)
{
    *why = "this program cannot start itself";
    return spawned(work->self) == CHILD_SAYS;
}

/* Pages that nobody touched yet; the kernel counts as many faults, where it counts. */
static int fault_pages(work_t *work, uint64_t count)
{
    size_t page = page_bytes(), i;
    uint64_t left = count, right = 0, before = faults_counted(), counted;
    while (left > 0) {
        size_t pages = left < PAGES_AT_ONCE ? (size_t)left : PAGES_AT_ONCE;
        volatile unsigned char *area = fresh_pages(pages * page);
        if (!area)
            return 0;
        for (i = 0; i < pages; i++) {
            area[i * page] = 1; /* written first: a page that is read first has two */
            right += area[i * page] + area[i * page + 1];
        }
        give_back_pages((void *)area, pages * page);
        left -= pages;
    }
    counted = faults_counted() - before;
    (void)work;
    return right == count && (counted == 0 || counted >= count - count / 100);
}

static int open_folder(work_t *work, const char **why)
{
    *why = "no file can be made in the folder";
    return make_and_remove(work->wishes->folder);
}

static int create_files(work_t *work, uint64_t count)
{
    for (; count > 0; count--)
        if (!make_and_remove(work->wishes->folder))
            return 0;
    return 1;
}

static int open_blocks(work_t *work, const char **why)
{
    *why = "the file cannot be written: the folder's disk is full, or not to be written";
    return open_file(&work->file, work->wishes->folder, work->wishes->file_mib);
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
        if (!read_block(&work->file, block) || number_in(work->file.block) != block)
            return 0;
    }
    return 1;
}

static int write_blocks_at_random(work_t *work, uint64_t count)
{
    uint64_t block = 0;
    for (; count > 0; count--) {
        block = next_block(work);
        put_number(work->file.block, block);
        put_number(work->file.block + 8, ++work->turn);
        if (!write_block(&work->file, block))
            return 0;
    }
    /* The last one is there: one read more, among hundreds of writes. */
    return read_block(&work->file, block) && number_in(work->file.block) == block
        && number_in(work->file.block + 8) == work->turn;
}

static void close_blocks(work_t *work)
{
    close_file(&work->file);
}

static int open_network(work_t *work, const char **why)
{
    *why = work->wishes->peer ? "the peer does not answer" : "no loopback";
    return open_peer(&work->peer, work->wishes->peer);
}

static int go_round(work_t *work, uint64_t count)
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
    {"pipe", PIPE_BLOCK, PIPE_BLOCK * 1e-6, open_pipe, read_pipe, close_pipes_beside},
    {"file-create", 0, 1, open_folder, create_files, close_nothing},
    {"random-read", BLOCK, 1, open_blocks, read_blocks_at_random, close_blocks},
    {"random-write", BLOCK, 1, open_blocks, write_blocks_at_random, close_blocks},
    {"round-trip", 1, 1, open_network, go_round, close_network},
    {"send", NET_BLOCK, NET_BLOCK * 1e-6, open_network, send_blocks, close_network},
    {"receive", NET_BLOCK, NET_BLOCK * 1e-6, open_network, receive_blocks, close_network},
};
#define TEST_COUNT ((int)(sizeof TESTS / sizeof *TESTS))

static wishes_t read_wishes(int count, char **words)
{
    wishes_t wishes = {0.5, NULL, ".", NULL, 64, {10, 0, NULL}};
    int place;
    for (place = 1; place < count; place += 2) {
        const char *word = words[place], *value = value_of(words, count, place);
        if (strcmp(word, "--operations") == 0)
            wishes.operations = value;
        else if (strcmp(word, "--seconds") == 0)
            wishes.seconds = number_of(word, value, 1e-3, 3600);
        else if (strcmp(word, "--folder") == 0)
            wishes.folder = value;
        else if (strcmp(word, "--file-mib") == 0)
            wishes.file_mib = (size_t)number_of(word, value, 1, 1 << 20);
        else if (strcmp(word, "--peer") == 0)
            wishes.peer = value;
        else
            read_common(&wishes.common, word, value);
    }
    return wishes;
}

/* Whether a name stands among names between commas; all do in none. */
static int is_among(const char *name, const char *names)
{
    size_t length = strlen(name);
    const char *found;
    if (!names)
        return 1;
    for (found = strstr(names, name); found; found = strstr(found + 1, name))
        if ((found == names || found[-1] == ',')
            && (found[length] == 0 || found[length] == ','))
            return 1;
    return 0;
}

static void check_operations(const char *names)
{
    char copy[512], *each;
    int place;
    if (!names)
        return;
    strncpy(copy, names, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    for (each = strtok(copy, ","); each; each = strtok(NULL, ",")) {
        for (place = 0; place < TEST_COUNT && strcmp(TESTS[place].name, each) != 0; place++)
            ;
        if (place == TEST_COUNT) {
            fprintf(stderr, "--operations: there is no %s.\n", each);
            exit(2);
        }
    }
}

/* How many turns should take the minimum time. */
static uint64_t more(uint64_t turns, double took_s, double least_s)
{
    if (took_s < least_s / 16)
        return turns * 8;
    return (uint64_t)((double)turns * least_s / took_s * 1.1) + 1;
}

/* One batch; says whether every answer was right. */
static int run_batch(
    const test_t *test, work_t *work, server_t *server, uint64_t turns, duration_t *took)
{
    stamp_t first = stamp(server);
    double began_s = now_s();
    int is_right = test->loop(work, turns);
    double ended_s = now_s();
    stamp_t last = stamp(server);
    *took = between(server, first, began_s, ended_s, last);
    return is_right;
}

/* Warm up, and find how many turns take the minimum time: twice, since the first of all
 * often takes long. None where an answer was wrong. */
static uint64_t calibrated(const test_t *test, work_t *work)
{
    server_t nobody = NOBODY;
    duration_t took = {0, 0, 0, 0};
    uint64_t turns = 1;
    int enough = 0;
    while (enough < 2) {
        if (!run_batch(test, work, &nobody, turns, &took))
            return 0;
        enough = took.local_s >= work->wishes->seconds ? enough + 1 : 0;
        if (!enough)
            turns = more(turns, took.local_s, work->wishes->seconds);
    }
    return turns;
}

/* Print one row; returns how many turns the next one should begin with. */
static uint64_t measure(
    const test_t *test, work_t *work, server_t *server, int repetition, uint64_t turns)
{
    for (;;) {
        duration_t took;
        int is_right = run_batch(test, work, server, turns, &took);
        if (!is_right || took.local_s >= work->wishes->seconds) {
            printf(
                "row %-14s %6lu %10.0f %3d", test->name, (unsigned long)test->bytes,
                (double)turns, repetition);
            print_times(took, (double)turns * test->each);
            printf(" %s\n", is_right ? "right" : "WRONG");
            if (ferror(stdout)) /* who listened has gone: a machine is not measured on */
                exit(1);
            return is_right ? turns : 0;
        }
        turns = more(turns, took.local_s, work->wishes->seconds);
    }
}

static void run_test(
    const test_t *test, const wishes_t *wishes, const char *self, server_t *server)
{
    work_t work;
    const char *why = "";
    uint64_t turns;
    int repetition;
    memset(&work, 0, sizeof work);
    work.wishes = wishes;
    work.self = self;
    work.state = 20100729;
    if (!test->open(&work, &why)) {
        printf("skipped %s: %s\n", test->name, why);
        test->close(&work);
        return;
    }
    turns = calibrated(test, &work);
    if (!turns)
        printf("failed %s: a wrong answer before anything was measured\n", test->name);
    for (repetition = 1; turns && repetition <= wishes->common.repetitions; repetition++)
        turns = measure(test, &work, server, repetition, turns);
    test->close(&work);
}

static void print_wishes(const wishes_t *wishes)
{
    print_machine();
    printf("page: %lu B\n", (unsigned long)page_bytes());
    printf("second process: %s\n", BESIDE_NAME);
    printf("processors of context switches: %s\n", can_stay() ? "one" : "any");
    printf("file: %lu MiB\n", (unsigned long)wishes->file_mib);
    printf("page cache: %s\n", is_direct(wishes->folder) ? "no" : "yes");
    printf("network: %s\n", wishes->peer ? wishes->peer : "loopback");
    printf("minimum: %g s\nrepetitions: %d\n", wishes->seconds, wishes->common.repetitions);
    printf("units: operations/s; of pipe, send and receive MB/s, MB are 10^6 B\n");
    printf(
        "          operation  bytes      turns repetition local s     external s    bound s"
        "     local rate  external rate check\n");
}

int main(int count, char **words)
{
    wishes_t wishes;
    server_t server;
    int place;
    if (count == 3 && strcmp(words[1], "--exit-with") == 0)
        return atoi(words[2]);
    begin_sockets();
    if (count == 3 && strcmp(words[1], "serve") == 0)
        return serve(words[2]);
    wishes = read_wishes(count, words);
    check_operations(wishes.operations);
    server = introduce("system 1.0", wishes.common.time_server);
    server.longest_s = wishes.seconds / 2; /* both together no longer than a row */
    print_wishes(&wishes);
    for (place = 0; place < TEST_COUNT; place++)
        if (is_among(TESTS[place].name, wishes.operations))
            run_test(&TESTS[place], &wishes, own_path(words[0]), &server);
    conclude(&server, wishes.common.time_server);
    return 0;
}
