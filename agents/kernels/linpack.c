/* Virtlab LINPACK: a dense system of n linear equations, solved with partial pivoting.
 *
 *     linpack [--sizes 1000,2000,4000,8000] [--precisions double,single]
 *             [--repetitions 10] [--warm-up 1] [--warm-up-s 0.5] [--budget-s 1200]
 *             [--width 0]
 *             [--most-bytes N] [--time-server HOST:PORT]
 *
 * A solution counts as 2/3 n^3 + 2 n^2 operations. As a warm-up, the first size of each
 * precision is also solved without output until half a second has passed. --width is the
 * number of columns eliminated at once: 0 (all) is the original LINPACK, 32 needs less
 * memory bandwidth.
 */
#include "clock.h"
#include "options.h"
#include <float.h>

#define SEED UINT64_C(20100729)
#define TILE 256
/* Limit of the residual. Random matrices give a few hundredths; HPL accepts 16. */
#define LIMIT 1.0
#define ABS(x) ((x) < 0 ? -(x) : (x))
/* The larger one of two residuals; NaN if one is NaN, so that the check fails. */
#define LARGER(x, y) ((x) <= (y) || (y) != (y) ? (y) : (x))

typedef struct {
    size_t n, width, *pivots;
    void *matrix, *vectors;
    double *sums;
} work_t;

typedef struct {
    duration_t elapsed;
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
    size_t sizes[MAX_NUMBERS];
    int size_count, warm_up;
    double warm_up_s;
    size_t width;
    double budget_s;
    const char *precisions;
    common_t common;
} options_t;

static options_t parse_options(int count, char **words)
{
    options_t options
        = {{1000, 2000, 4000, 8000}, 4, 1, 0.5, 0, 1200, "double,single", {10, 0, NULL}};
    int i;
    for (i = 1; i < count; i += 2) {
        const char *word = words[i], *value = option_value(words, count, i);
        if (strcmp(word, "--sizes") == 0)
            options.size_count = parse_numbers(word, value, 1e6, options.sizes);
        else if (strcmp(word, "--precisions") == 0)
            options.precisions = value;
        else if (strcmp(word, "--warm-up") == 0)
            options.warm_up = (int)parse_number(word, value, 0, 100);
        else if (strcmp(word, "--warm-up-s") == 0)
            options.warm_up_s = parse_number(word, value, 0, 3600);
        else if (strcmp(word, "--budget-s") == 0)
            options.budget_s = parse_number(word, value, 0, 1e6);
        else if (strcmp(word, "--width") == 0)
            options.width = (size_t)parse_number(word, value, 0, 4096);
        else
            parse_common_option(&options.common, word, value);
    }
    return options;
}

static double operations(double n)
{
    return 2.0 / 3.0 * n * n * n + 2.0 * n * n;
}

/* Estimate the time for a size from the last solution in this precision. */
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

static void release(work_t *work)
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
    print_times(result->elapsed, operations((double)n) * 1e-6);
    printf(" %12.6f\n", result->residual);
}

/* Solve without output until the processor has reached its full speed, which takes longer
 * than solving one small system. */
static int warm_up(
    precision_t *precision, work_t *work, double until_s, double ends_s)
{
    server_t no_server = NO_SERVER;
    result_t result = {{0, 0, 0, 0}, 0};
    while (now_s() < until_s && now_s() + precision->last_s <= ends_s)
        if (!precision->solve(work, &no_server, &result))
            return 0;
    return 1;
}

/* Repeat a solution. Return the number of repetitions, or -1 if the matrix is singular,
 * and the worst residual. */
static int repeat(
    precision_t *precision, const options_t *options, work_t *work, server_t *server,
    int warm_ups, double ends_s, double *worst)
{
    double warm_s = now_s() + options->warm_up_s;
    int repetition;
    for (repetition = 1 - warm_ups; repetition <= options->common.repetitions; repetition++) {
        result_t result = {{0, 0, 0, 0}, 0};
        char which[16];
        if (repetition == 1 && warm_ups > 0 && !warm_up(precision, work, warm_s, ends_s))
            return -1;
        if (now_s() + expected_s(precision, (double)work->n) > ends_s)
            break;
        if (!precision->solve(work, server, &result))
            return -1;
        precision->last_s = result.elapsed.local_s;
        precision->last_n = (double)work->n;
        *worst = LARGER(result.residual, *worst);
        sprintf(which, repetition > 0 ? "%d" : "warm-up", repetition);
        print_row(precision, work->n, which, &result);
    }
    return repetition > 0 ? repetition - 1 : 0;
}

static void print_residual(const precision_t *precision, size_t n, int is_solved, double worst)
{
    printf("residual %s %lu: ", precision->name, (unsigned long)n);
    if (is_solved)
        printf("%.6f of %.1f %s\n", worst, LIMIT, worst <= LIMIT ? "passed" : "failed");
    else
        printf("singular failed\n");
}

static void print_skipped(const precision_t *precision, size_t n, int done, const char *why)
{
    printf(
        "skipped %s %lu after %d: %s\n", precision->name, (unsigned long)n, done, why);
}

static void run_size(
    precision_t *precision, const options_t *options, server_t *server, size_t n,
    double ends_s)
{
    int warm_ups = precision->last_n == 0 ? options->warm_up : 0, done;
    work_t work = {0, 0, NULL, NULL, NULL, NULL};
    double worst = 0;
    if (options->common.most_bytes > 0
        && bytes_needed(precision, (double)n) > options->common.most_bytes) {
        print_skipped(precision, n, 0, "it needs more memory than is free");
        return;
    }
    if (!allocate(&work, n, options->width, precision->bytes)) {
        release(&work);
        print_skipped(precision, n, 0, "there is not enough memory");
        return;
    }
    done = repeat(precision, options, &work, server, warm_ups, ends_s, &worst);
    release(&work);
    if (done != 0)
        print_residual(precision, n, done > 0, worst);
    if (done >= 0 && done < options->common.repetitions)
        print_skipped(precision, n, done, "the budget would be exceeded");
}

static void print_options(const options_t *options)
{
    int i;
    printf("sizes:");
    for (i = 0; i < options->size_count; i++)
        printf(" %lu", (unsigned long)options->sizes[i]);
    printf("\nrepetitions: %d\n", options->common.repetitions);
    printf("budget: %.0f s\n", options->budget_s);
    printf("columns at once: ");
    if (options->width)
        printf("%lu\n", (unsigned long)options->width);
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
    options_t options = parse_options(count, words);
    double ends_s = now_s() + options.budget_s;
    server_t server = print_header("LINPACK 1.0", options.common.time_server);
    int size, which;
    print_options(&options);
    for (size = 0; size < options.size_count; size++)
        for (which = 0; which < 2; which++)
            if (strstr(options.precisions, PRECISIONS[which].name))
                run_size(
                    &PRECISIONS[which], &options, &server, options.sizes[size], ends_s);
    print_footer(&server, options.common.time_server);
    return 0;
}
