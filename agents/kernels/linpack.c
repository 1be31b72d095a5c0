/* Virtlab LINPACK: a dense system of n linear equations, solved with partial pivoting.
 *
 *     linpack [--sizes 1000,2000,4000,8000] [--precisions double,single]
 *             [--repetitions 10] [--warm-up 1] [--warm-up-s 0.5] [--budget-s 1200]
 *             [--width 0]
 *             [--most-bytes N] [--time-server HOST:PORT]
 *
 * Counts 2/3 n^3 + 2 n^2 operations for each solution. In each precision the first size
 * is solved unseen until the processor has worked for half a second. --width: columns that are
 * eliminated at once; 0 (all) is what LINPACK did, 32 spares memory's bandwidth.
 */
#include "clock.h"
#include "options.h"
#include <float.h>

#define SEED UINT64_C(20100729)
#define TILE 256
/* Random matrices give some hundredths; HPL would take 16. */
#define LIMIT 1.0
#define ABS(x) ((x) < 0 ? -(x) : (x))
/* What is no number stays: it must fail. */
#define LARGER(x, y) ((x) <= (y) || (y) != (y) ? (y) : (x))

typedef struct {
    size_t n, width, *pivots;
    void *matrix, *vectors;
    double *sums;
} work_t;

typedef struct {
    duration_t took;
    double residual;
} result_t;

#define REAL double
#define NAME(x) x##_double
#define EPSILON DBL_EPSILON
#include "solve.h"
#undef REAL
#undef NAME
#undef EPSILON
#define REAL float
#define NAME(x) x##_single
#define EPSILON FLT_EPSILON
#include "solve.h"

typedef struct {
    const char *name;
    size_t bytes;
    int (*solve)(work_t *, server_t *, result_t *);
    double last_s, last_n;
} precision_t;

static precision_t PRECISIONS[] = {
    {"double", sizeof(double), solve_double, 0, 0},
    {"single", sizeof(float), solve_single, 0, 0},
};

typedef struct {
    size_t sizes[MOST_NUMBERS];
    int size_count, warm_up;
    double warm_up_s;
    size_t width;
    double budget_s;
    const char *precisions;
    common_t common;
} wishes_t;

static wishes_t read_wishes(int count, char **words)
{
    wishes_t wishes
        = {{1000, 2000, 4000, 8000}, 4, 1, 0.5, 0, 1200, "double,single", {10, 0, NULL}};
    int place;
    for (place = 1; place < count; place += 2) {
        const char *word = words[place], *value = value_of(words, count, place);
        if (strcmp(word, "--sizes") == 0)
            wishes.size_count = numbers_of(word, value, 1e6, wishes.sizes);
        else if (strcmp(word, "--precisions") == 0)
            wishes.precisions = value;
        else if (strcmp(word, "--warm-up") == 0)
            wishes.warm_up = (int)number_of(word, value, 0, 100);
        else if (strcmp(word, "--warm-up-s") == 0)
            wishes.warm_up_s = number_of(word, value, 0, 3600);
        else if (strcmp(word, "--budget-s") == 0)
            wishes.budget_s = number_of(word, value, 0, 1e6);
        else if (strcmp(word, "--width") == 0)
            wishes.width = (size_t)number_of(word, value, 0, 4096);
        else
            read_common(&wishes.common, word, value);
    }
    return wishes;
}

static double operations(double n)
{
    return 2.0 / 3.0 * n * n * n + 2.0 * n * n;
}

/* How long this size should take, from the last solution in this precision. */
static double expected_s(const precision_t *precision, double n)
{
    if (precision->last_n == 0)
        return 0;
    return precision->last_s * operations(n) / operations(precision->last_n);
}

static double bytes_needed(const precision_t *precision, double n)
{
    return n * n * (double)precision->bytes + n * (2.0 * (double)precision->bytes + 24);
}

static int allocate(work_t *work, size_t n, size_t width, size_t bytes)
{
    work->n = n;
    work->width = width ? width : n;
    work->matrix = n > SIZE_MAX / bytes / n ? NULL : malloc(n * n * bytes);
    work->vectors = malloc(2 * n * bytes);
    work->pivots = malloc(n * sizeof(size_t));
    work->sums = malloc(2 * n * sizeof(double));
    return work->matrix && work->vectors && work->pivots && work->sums;
}

static void give_back(work_t *work)
{
    free(work->matrix);
    free(work->vectors);
    free(work->pivots);
    free(work->sums);
}

static void print_row(
    const precision_t *precision, size_t n, const char *which, const result_t *result)
{
    printf("row %s %6lu %10s", precision->name, (unsigned long)n, which);
    print_times(result->took, operations((double)n) * 1e-6);
    printf(" %12.6f\n", result->residual);
}

/* Go on unseen until the processor has its speed: small systems are solved sooner. */
static int warm_up(
    precision_t *precision, work_t *work, double until_s, double ends_s)
{
    server_t nobody = NOBODY;
    result_t result = {{0, 0, 0, 0}, 0};
    while (now_s() < until_s && now_s() + precision->last_s <= ends_s)
        if (!precision->solve(work, &nobody, &result))
            return 0;
    return 1;
}

/* Repeat one solution; returns how many times, or -1 if there is none (the matrix is
 * singular), and the worst residual. */
static int repeat(
    precision_t *precision, const wishes_t *wishes, work_t *work, server_t *server,
    int warm_ups, double ends_s, double *worst)
{
    double warm_s = now_s() + wishes->warm_up_s;
    int turn;
    for (turn = 1 - warm_ups; turn <= wishes->common.repetitions; turn++) {
        result_t result = {{0, 0, 0, 0}, 0};
        char which[16];
        if (turn == 1 && warm_ups > 0 && !warm_up(precision, work, warm_s, ends_s))
            return -1;
        if (now_s() + expected_s(precision, (double)work->n) > ends_s)
            break;
        if (!precision->solve(work, server, &result))
            return -1;
        precision->last_s = result.took.local_s;
        precision->last_n = (double)work->n;
        *worst = LARGER(result.residual, *worst);
        sprintf(which, turn > 0 ? "%d" : "warm-up", turn);
        print_row(precision, work->n, which, &result);
    }
    return turn > 0 ? turn - 1 : 0;
}

static void judge(const precision_t *precision, size_t n, int is_solved, double worst)
{
    printf("residual %s %lu: ", precision->name, (unsigned long)n);
    if (is_solved)
        printf("%.6f of %.1f %s\n", worst, LIMIT, worst <= LIMIT ? "passed" : "failed");
    else
        printf("singular failed\n");
}

static void skip(const precision_t *precision, size_t n, int done, const char *why)
{
    printf(
        "skipped %s %lu after %d: %s\n", precision->name, (unsigned long)n, done, why);
}

static void run_size(
    precision_t *precision, const wishes_t *wishes, server_t *server, size_t n,
    double ends_s)
{
    int warm_ups = precision->last_n == 0 ? wishes->warm_up : 0, done;
    work_t work = {0, 0, NULL, NULL, NULL, NULL};
    double worst = 0;
    if (wishes->common.most_bytes > 0
        && bytes_needed(precision, (double)n) > wishes->common.most_bytes) {
        skip(precision, n, 0, "it needs more memory than is free");
        return;
    }
    if (!allocate(&work, n, wishes->width, precision->bytes)) {
        give_back(&work);
        skip(precision, n, 0, "there is not so much memory");
        return;
    }
    done = repeat(precision, wishes, &work, server, warm_ups, ends_s, &worst);
    give_back(&work);
    if (done != 0)
        judge(precision, n, done > 0, worst);
    if (done >= 0 && done < wishes->common.repetitions)
        skip(precision, n, done, "the budget would be exceeded");
}

static void print_wishes(const wishes_t *wishes)
{
    int place;
    printf("sizes:");
    for (place = 0; place < wishes->size_count; place++)
        printf(" %lu", (unsigned long)wishes->sizes[place]);
    printf("\nrepetitions: %d\n", wishes->common.repetitions);
    printf("budget: %.0f s\n", wishes->budget_s);
    printf("columns at once: ");
    if (wishes->width)
        printf("%lu\n", (unsigned long)wishes->width);
    else
        printf("all\n");
    printf("operations: 2/3 n^3 + 2 n^2; Mflop/s are 10^6 a second\n");
    printf("residual: ||Ax-b|| / (n ||A|| ||x|| eps), maximum norm, at most %.1f\n", LIMIT);
    printf(
        "   precision      n repetition        local s     external s    bound s"
        "  local Mflop/s external Mflop/s  residual\n");
}

int main(int count, char **words)
{
    wishes_t wishes = read_wishes(count, words);
    double ends_s = now_s() + wishes.budget_s;
    server_t server = introduce("LINPACK 1.0", wishes.common.time_server);
    int size, which;
    print_wishes(&wishes);
    for (size = 0; size < wishes.size_count; size++)
        for (which = 0; which < 2; which++)
            if (strstr(wishes.precisions, PRECISIONS[which].name))
                run_size(
                    &PRECISIONS[which], &wishes, &server, wishes.sizes[size], ends_s);
    conclude(&server, wishes.common.time_server);
    return 0;
}
