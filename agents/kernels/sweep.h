/* The loops of one type of numbers; included once with REAL and NAME(x) for each.
 *
 * All values are small whole numbers: sums of them are exact in both types. Each pass
 * fetches its pointer anew from a volatile one: the compiler cannot know that it is
 * the same memory again, and so cannot leave out a pass.
 */

static void NAME(fill)(void *memory, size_t count)
{
    REAL *a = memory, *b = a + count + GAP;
    size_t i;
    for (i = 0; i < count; i++)
        a[i] = (REAL)(1 + i % 8);
    for (i = 0; i < count; i++)
        b[i] = (REAL)(9 + i % 8);
}

/* Four sums, so that the additions need not wait for each other. */
static REAL NAME(read)(const REAL *memory, size_t count, uint64_t passes)
{
    const REAL *volatile place = memory;
    REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    while (passes-- > 0) {
        const REAL *a = place;
        size_t i;
        for (i = 0; i < count; i += 8) {
            s0 += a[i] + a[i + 4];
            s1 += a[i + 1] + a[i + 5];
            s2 += a[i + 2] + a[i + 6];
            s3 += a[i + 3] + a[i + 7];
        }
    }
    return s0 + s1 + s2 + s3;
}

static void NAME(write)(REAL *memory, size_t count, uint64_t passes)
{
    REAL *volatile place = memory;
    while (passes-- > 0) {
        REAL *a = place, value = (REAL)(FIRST_WRITTEN + passes % 8);
        size_t i;
        for (i = 0; i < count; i++)
            a[i] = value;
    }
}

#define OVER_ARRAYS(name, result) \
    static void NAME(name)(REAL *memory, size_t count, uint64_t passes) \
    { \
        REAL *volatile place = memory; \
        while (passes-- > 0) { \
            const REAL *a = place, *b = a + count + GAP; \
            REAL *c = place + 2 * (count + GAP); \
            size_t i; \
            for (i = 0; i < count; i++) \
                c[i] = result; \
            (void)b; \
        } \
    }
OVER_ARRAYS(copy, a[i])
OVER_ARRAYS(scale, FACTOR * a[i])
OVER_ARRAYS(add, a[i] + b[i])
OVER_ARRAYS(triad, a[i] + FACTOR * b[i])
#undef OVER_ARRAYS

/* Do it so many times; returns the sum of what was read. */
static double NAME(sweep)(int operation, void *memory, size_t count, uint64_t passes)
{
    switch (operation) {
    case READ:
        return (double)NAME(read)(memory, count, passes);
    case WRITE:
        NAME(write)(memory, count, passes);
        break;
    case COPY:
        NAME(copy)(memory, count, passes);
        break;
    case SCALE:
        NAME(scale)(memory, count, passes);
        break;
    case ADD:
        NAME(add)(memory, count, passes);
        break;
    default:
        NAME(triad)(memory, count, passes);
    }
    return 0;
}

/* What element i must be after an operation. */
static REAL NAME(expected)(int operation, size_t i)
{
    REAL a = (REAL)(1 + i % 8), b = (REAL)(9 + i % 8);
    switch (operation) {
    case WRITE:
        return FIRST_WRITTEN;
    case COPY:
        return a;
    case SCALE:
        return FACTOR * a;
    case ADD:
        return a + b;
    default:
        return a + FACTOR * b;
    }
}

/* The checksum (of what was read, or of what now stands there), and if it is right. */
static outcome_t NAME(check)(
    int operation, const void *memory, size_t count, uint64_t passes, double sum)
{
    const REAL *result = memory;
    REAL whole = 0;
    size_t i;
    outcome_t outcome = {sum, 1};
    if (operation == READ) {
        for (i = 0; i < count; i++)
            whole += (REAL)(1 + i % 8);
        outcome.is_right = (double)(REAL)(whole * (REAL)passes) == sum;
        return outcome;
    }
    if (operation != WRITE)
        result += 2 * (count + GAP);
    for (i = 0; i < count; i++) {
        whole += result[i];
        if (result[i] != NAME(expected)(operation, i))
            outcome.is_right = 0;
    }
    outcome.sum = (double)whole;
    return outcome;
}
