/* Parsing of options, and the options common to all kernels. */

#define MAX_NUMBERS 32

typedef struct {
    int repetitions;
    double most_bytes;
    const char *time_server;
} common_t;

/* Return the value after the option at `index`; exit without one. */
static const char *option_value(char **words, int count, int index)
{
    if (index + 1 >= count) {
        fprintf(stderr, "%s needs a value.\n", words[index]);
        exit(2);
    }
    return words[index + 1];
}

/* Return a number within limits; exit for another one. */
static double parse_number(const char *option, const char *text, double least, double most)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= least && number <= most)) {
        fprintf(stderr, "%s %s: not from %g to %g.\n", option, text, least, most);
        exit(2);
    }
    return number;
}

/* Parse comma-separated numbers from 1 on; return their count, or exit. */
static inline int parse_numbers(
    const char *option, const char *text, double most, size_t numbers[MAX_NUMBERS])
{
    char copy[512], *item;
    int count = 0;
    strncpy(copy, text, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    for (item = strtok(copy, ","); item; item = strtok(NULL, ",")) {
        if (count == MAX_NUMBERS) {
            fprintf(stderr, "%s: at most %d.\n", option, MAX_NUMBERS);
            exit(2);
        }
        numbers[count++] = (size_t)parse_number(option, item, 1, most);
    }
    return count;
}

/* Parse a common option; exit for an unknown one. */
static void parse_common_option(common_t *common, const char *word, const char *value)
{
    if (strcmp(word, "--repetitions") == 0)
        common->repetitions = (int)parse_number(word, value, 1, 1000);
    else if (strcmp(word, "--most-bytes") == 0)
        common->most_bytes = parse_number(word, value, 0, 1e15);
    else if (strcmp(word, "--time-server") == 0)
        common->time_server = value;
    else {
        fprintf(stderr, "%s is no option.\n", word);
        exit(2);
    }
}
