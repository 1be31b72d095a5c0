/* The loops for one number type; included once per type with REAL and NAME(x).
 *
 * All values are small whole numbers, so sums are exact in both types. Each pass reads
 * its pointer from a volatile variable, so the compiler cannot know that all passes use
 * the same memory, and cannot omit any.
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

/* Use four sums, so that additions do not depend on each other. */
static REAL NAME(read)(const REAL *memory, size_t count, uint64_t passes)
{
    const REAL *volatile pointer = memory;
    REAL s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    while (passes-- > 0) {
        const REAL *a = pointer;
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
    REAL *volatile pointer = memory;
    while (passes-- > 0) {
        REAL *a = pointer, value = (REAL)(FIRST_WRITTEN + passes % 8);
        size_t i;
        for (i = 0; i < count; i++)
            a[i] = value;
    }
}

#define OVER_ARRAYS(name, result) \
    static void NAME(name)(REAL *memory, size_t count, uint64_t passes) \
    { \
        REAL *volatile pointer = memory; \
        while (passes-- > 0) { \
            const REAL *a = pointer, *b = a + count + GAP; \
            REAL *c = pointer + 2 * (count + GAP); \
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

/* Run the passes of an operation; return the sum of the values read. */
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

/* Return the correct element i after an operation. */
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

/* Return the checksum of the values read or written, and whether it is right. */
static outcome_t NAME(check)(
    int operation, const void *memory, size_t count, uint64_t passes, double sum)
{
    const REAL *result = memory;
    REAL total = 0;
    size_t i;
    outcome_t outcome = {sum, 1};
    if (operation == READ) {
        for (i = 0; i < count; i++)
            total += (REAL)(1 + i % 8);
        outcome.is_right = (double)(REAL)(total * (REAL)passes) == sum;
        return outcome;
    }
    if (operation != WRITE)
        result += 2 * (count + GAP);
    for (i = 0; i < count; i++) {
        total += result[i];
        if (result[i] != NAME(expected)(operation, i))
            outcome.is_right = 0;
    }
    outcome.sum = (double)total;
    return outcome;
}
