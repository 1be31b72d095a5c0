/* One precision of LINPACK; included once per precision with REAL and NAME(x).
 *
 * Matrices are stored by columns: a[i + j * n] is row i of column j. The code follows
 * the algorithm in Golub and Van Loan, Matrix Computations, 3.4.
 */

/* Return the next element by columns, uniform in (-0.5, 0.5). */
static REAL NAME(element)(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (REAL)((double)(*state >> 40) / 16777216.0 - 0.5);
}

/* Generate the matrix and b = A (1, ..., 1). */
static void NAME(generate)(REAL *a, REAL *b, size_t n)
{
    uint64_t state = SEED;
    size_t i, j;
    for (i = 0; i < n; i++)
        b[i] = 0;
    for (j = 0; j < n; j++)
        for (i = 0; i < n; i++)
            b[i] += a[i + j * n] = NAME(element)(&state);
}

/* y += factor x */
static void NAME(axpy)(size_t n, REAL factor, const REAL *x, REAL *y)
{
    size_t i;
    for (i = 0; i < n; i++)
        y[i] += factor * x[i];
}

static void NAME(exchange)(REAL *a, size_t n, size_t from, size_t to, size_t p, size_t q)
{
    size_t j;
    for (j = from; j < to; j++) {
        REAL saved = a[p + j * n];
        a[p + j * n] = a[q + j * n];
        a[q + j * n] = saved;
    }
}

static size_t NAME(largest)(const REAL *column, size_t from, size_t n)
{
    size_t i, best = from;
    for (i = from + 1; i < n; i++)
        if (ABS(column[i]) > ABS(column[best]))
            best = i;
    return best;
}

/* Eliminate columns from..to without changing the columns after them. */
static int NAME(eliminate)(REAL *a, size_t *pivots, size_t n, size_t from, size_t to)
{
    size_t i, j, k;
    for (k = from; k < to; k++) {
        REAL *column = a + k * n, inverse;
        pivots[k] = NAME(largest)(column, k, n);
        if (column[pivots[k]] == 0)
            return 0;
        NAME(exchange)(a, n, from, to, k, pivots[k]);
        inverse = -1 / column[k];
        for (i = k + 1; i < n; i++)
            column[i] *= inverse;
        for (j = k + 1; j < to; j++)
            NAME(axpy)(n - k - 1, a[k + j * n], column + k + 1, a + k + 1 + j * n);
    }
    return 1;
}

/* Apply the elimination of a panel to all columns after it, in tiles of rows. */
static void NAME(update)(REAL *a, size_t n, size_t from, size_t to)
{
    size_t j, k, row;
    for (j = to; j < n; j++)
        for (k = from; k < to; k++)
            NAME(axpy)(to - k - 1, a[k + j * n], a + k + 1 + k * n, a + k + 1 + j * n);
    for (row = to; row < n; row += TILE) {
        size_t rows = n - row < TILE ? n - row : TILE;
        for (j = to; j < n; j++)
            for (k = from; k < to; k++)
                NAME(axpy)(rows, a[k + j * n], a + row + k * n, a + row + j * n);
    }
}

/* Factor PA = LU in place, `width` columns at a time; multipliers are stored negated. */
static int NAME(factor)(REAL *a, size_t *pivots, size_t n, size_t width)
{
    size_t from, k;
    for (from = 0; from < n; from += width) {
        size_t to = n - from < width ? n : from + width;
        if (!NAME(eliminate)(a, pivots, n, from, to))
            return 0;
        for (k = from; k < to; k++) {
            NAME(exchange)(a, n, 0, from, k, pivots[k]);
            NAME(exchange)(a, n, to, n, k, pivots[k]);
        }
        NAME(update)(a, n, from, to);
    }
    return 1;
}

/* Replace b by the solution x. */
static void NAME(substitute)(const REAL *a, const size_t *pivots, REAL *b, size_t n)
{
    size_t k;
    for (k = 0; k < n; k++) {
        REAL saved = b[pivots[k]];
        b[pivots[k]] = b[k];
        b[k] = saved;
    }
    for (k = 0; k < n; k++)
        NAME(axpy)(n - k - 1, b[k], a + k + 1 + k * n, b + k + 1);
    for (k = n; k-- > 0;) {
        b[k] /= a[k + k * n];
        NAME(axpy)(k, -b[k], a + k * n, b);
    }
#ifdef VIRTLAB_BREAK_SOLUTION
    b[n / 2] *= (REAL)1.001;
#endif
}

/* Return ||Ax - b|| / (n ||A|| ||x|| eps) in the maximum norm; A is generated again. */
static double NAME(residual)(const REAL *x, double *sums, REAL *b, size_t n)
{
    uint64_t state = SEED;
    double *products = sums + n, worst = 0, norm_a = 0, norm_x = 0;
    size_t i, j;
    for (i = 0; i < n; i++)
        sums[i] = products[i] = b[i] = 0;
    for (j = 0; j < n; j++) {
        for (i = 0; i < n; i++) {
            REAL element = NAME(element)(&state);
            b[i] += element;
            sums[i] += ABS(element);
            products[i] += (double)element * x[j];
        }
        norm_x = LARGER(ABS((double)x[j]), norm_x);
    }
    for (i = 0; i < n; i++) {
        worst = LARGER(ABS(products[i] - b[i]), worst);
        norm_a = LARGER(sums[i], norm_a);
    }
    return worst / ((double)n * norm_a * norm_x * EPSILON);
}

/* Solve once; return whether there was a solution. */
static int NAME(solve)(work_t *work, server_t *server, result_t *result)
{
    REAL *a = work->matrix, *x = work->vectors, *b = x + work->n;
    stamp_t first, last;
    double began_s, ended_s;
    int is_solved;
    NAME(generate)(a, x, work->n);
    first = stamp(server);
    began_s = now_s();
    is_solved = NAME(factor)(a, work->pivots, work->n, work->width);
    if (is_solved)
        NAME(substitute)(a, work->pivots, x, work->n);
    ended_s = now_s();
    last = stamp(server);
    result->elapsed = between(server, first, began_s, ended_s, last);
    if (is_solved)
        result->residual = NAME(residual)(x, work->sums, b, work->n);
    return is_solved;
}
