/* The words that a kernel is started with, and the options that all of them have. */

#define MOST_NUMBERS 32

typedef struct {
    int repetitions;
    double most_bytes;
    const char *time_server;
} common_t;

/* The value behind the option at `place`, or the end of the program. */
static const char *value_of(char **words, int count, int place)
{
    if (place + 1 >= count) {
        fprintf(stderr, "%s needs a value.\n", words[place]);
        exit(2);
    }
    return words[place + 1];
}

/* A number within limits, or the end of the program. */
static double number_of(const char *option, const char *text, double least, double most)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= least && number <= most)) {
        fprintf(stderr, "%s %s: not from %g to %g.\n", option, text, least, most);
        exit(2);
    }
    return number;
}

/* Numbers from 1 on between commas; returns how many, or ends the program. */
static inline int numbers_of(
    const char *option, const char *text, double most, size_t numbers[MOST_NUMBERS])
{
    char copy[512], *each;
    int count = 0;
    strncpy(copy, text, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    for (each = strtok(copy, ","); each; each = strtok(NULL, ",")) {
        if (count == MOST_NUMBERS) {
            fprintf(stderr, "%s: at most %d.\n", option, MOST_NUMBERS);
            exit(2);
        }
        numbers[count++] = (size_t)number_of(option, each, 1, most);
    }
    return count;
}

/* An option that every kernel has, or the end of the program. */
static void read_common(common_t *common, const char *word, const char *value)
{
    if (strcmp(word, "--repetitions") == 0)
        common->repetitions = (int)number_of(word, value, 1, 1000);
    else if (strcmp(word, "--most-bytes") == 0)
        common->most_bytes = number_of(word, value, 0, 1e15);
    else if (strcmp(word, "--time-server") == 0)
        common->time_server = value;
    else {
        fprintf(stderr, "%s is no option.\n", word);
        exit(2);
    }
}
