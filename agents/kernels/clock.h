/* Clock, time server, and the first and last lines of the output.
 *
 * Portable C99 for POSIX and Windows; needs only the C library. Each program includes
 * this file once.
 */
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <ws2tcpip.h>
typedef SOCKET socket_t;
#define CLOSE closesocket
#define CLOCK_NAME "QueryPerformanceCounter"
#else
#define _POSIX_C_SOURCE 200112L
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
typedef int socket_t;
#define INVALID_SOCKET (-1)
#define CLOSE close
#define CLOCK_NAME "CLOCK_MONOTONIC"
#endif
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef VIRTLAB_FLAGS
#define VIRTLAB_FLAGS "not stated"
#endif
#ifndef VIRTLAB_BUILT
#define VIRTLAB_BUILT "by hand"
#endif
#if defined(__clang__)
#define COMPILER __VERSION__
#elif defined(__TINYC__)
#define COMPILER "tcc " TEXT_OF(__TINYC__)
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "not stated"
#endif
#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x

#define EXCHANGES 8 /* a stamp is the best of this many */
#define SOCKET_TIMEOUT_S 10

/* A connection to a time server, with the shortest round trip so far. */
typedef struct {
    int is_open;
    socket_t sock;
    double shortest_s;
    double longest_s; /* after this time a stamp makes no more exchanges */
} server_t;

static const server_t NO_SERVER = {0, INVALID_SOCKET, 1e9, 1e9};

/* One exchange: our clock at request and reply, and the server's clock. */
typedef struct {
    double sent_s, received_s, server_s;
    int is_valid;
} stamp_t;

/* A duration by our clock and, if is_external, by the server's within a bound. */
typedef struct {
    double local_s, external_s, bound_s;
    int is_external;
} duration_t;

static double now_s(void)
{
#ifdef _WIN32
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&ticks);
    return (double)ticks.QuadPart / (double)frequency.QuadPart;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
#endif
}

/* Return the step of the clock: the median of five observed steps, measured once. The
 * step of a clock that does not move is a day. */
static double step_s(void)
{
    static double result_s = 0;
    double steps[6], before_s = now_s();
    int step_count = 0, readings;
    for (readings = 0; result_s == 0 && step_count < 6 && readings < 5000000; readings++) {
        double read_s = now_s();
        if (read_s > before_s)
            steps[step_count++] = read_s - before_s;
        before_s = read_s;
    }
    if (result_s == 0 && step_count == 6) {
        int i, j;
        for (i = 2; i < 6; i++) /* the first step began before the first reading */
            for (j = i; j > 1 && steps[j - 1] > steps[j]; j--) {
                double larger = steps[j - 1];
                steps[j - 1] = steps[j];
                steps[j] = larger;
            }
        result_s = steps[3];
    }
    if (result_s == 0)
        result_s = 86400;
    return result_s;
}

static void close_server(server_t *server)
{
    if (server->is_open)
        CLOSE(server->sock);
    server->is_open = 0;
}

/* Send a request in one write and receive up to a newline or `size` bytes. Return
 * whether this succeeded. */
static int ask(server_t *server, const char *request, char *reply, int size)
{
    int length = (int)strlen(request), received = 0;
    if (send(server->sock, request, (size_t)length, MSG_NOSIGNAL) != length)
        return 0;
    while (received < size && (received == 0 || reply[received - 1] != '\n')) {
        int got = (int)recv(server->sock, reply + received, (size_t)(size - received), 0);
        if (got <= 0)
            return 0;
        received += got;
    }
    reply[received] = 0;
    return 1;
}

/* Ask for the server's time; close the connection after a failure. */
static stamp_t exchange(server_t *server)
{
    stamp_t result = {0, 0, 0, 0};
    char reply[32], *end = reply;
    if (!server->is_open)
        return result;
    result.sent_s = now_s();
    if (ask(server, "time\n", reply, sizeof reply - 1))
        result.server_s = strtod(reply, &end) * 1e-6;
    result.received_s = now_s();
    result.is_valid = end != reply && *end == '\n' && reply[0] >= '0' && reply[0] <= '9';
    if (!result.is_valid)
        close_server(server);
    else if (result.received_s - result.sent_s < server->shortest_s)
        server->shortest_s = result.received_s - result.sent_s;
    return result;
}

/* Return the exchange with the shortest round trip of several. */
static stamp_t stamp(server_t *server)
{
    stamp_t best = exchange(server), next = best;
    double until_s = best.sent_s + server->longest_s;
    int attempt;
    for (attempt = 1;
         attempt < EXCHANGES && server->is_open && next.received_s < until_s; attempt++) {
        next = exchange(server);
        if (next.is_valid && next.received_s - next.sent_s < best.received_s - best.sent_s)
            best = next;
    }
    return best;
}

/* Return the duration of the work between two stamps. The difference of the server's
 * times includes the reply of the first exchange and the request of the second. Together
 * they are assumed to take one round trip, the shortest known. The error is at most the
 * sum of what each of both round trips exceeds the shortest by, plus the steps of the
 * clocks: six of ours (four in the round trips, two in the gaps between stamp and work)
 * and two of the server's, which are microseconds. */
static duration_t between(
    const server_t *server, stamp_t first, double began_s, double ended_s, stamp_t last)
{
    duration_t found = {ended_s - began_s, 0, 0, first.is_valid && last.is_valid};
    if (found.is_external) {
        double least_s = server->shortest_s;
        double gap_s = (began_s - first.received_s) + (last.sent_s - ended_s);
        found.external_s = last.server_s - first.server_s - least_s - gap_s;
        found.bound_s = (first.received_s - first.sent_s - least_s)
            + (last.received_s - last.sent_s - least_s) + 6 * step_s() + 2e-6;
        found.is_external = found.external_s > 0;
    }
    return found;
}

/* Send without delay, and limit waiting: by default Linux tries to connect for two
 * minutes. */
static void set_socket_options(socket_t sock)
{
    int yes = 1;
#ifdef _WIN32
    DWORD timeout = SOCKET_TIMEOUT_S * 1000;
#else
    struct timeval timeout = {SOCKET_TIMEOUT_S, 0};
#endif
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, (const char *)&yes, sizeof yes);
    setsockopt(
        sock, SOL_SOCKET, SO_RCVTIMEO, (const char *)&timeout, sizeof timeout);
    setsockopt(
        sock, SOL_SOCKET, SO_SNDTIMEO, (const char *)&timeout, sizeof timeout);
}

static socket_t connect_to(const char *host, const char *port)
{
    struct addrinfo hints, *found = NULL, *item;
    socket_t sock = INVALID_SOCKET;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return INVALID_SOCKET;
    for (item = found; item && sock == INVALID_SOCKET; item = item->ai_next) {
        sock = socket(item->ai_family, item->ai_socktype, item->ai_protocol);
        if (sock == INVALID_SOCKET)
            continue;
        set_socket_options(sock);
        if (connect(sock, item->ai_addr, (socklen_t)item->ai_addrlen) != 0) {
            CLOSE(sock);
            sock = INVALID_SOCKET;
        }
    }
    freeaddrinfo(found);
    return sock;
}

/* Connect to HOST:PORT or [::1]:PORT, send `start` like the LINPACK of the LMU studies,
 * and take a stamp to measure the round trip. */
static server_t open_server(const char *address)
{
    server_t server = NO_SERVER;
    char host[256], reply[16], *colon;
#ifdef _WIN32
    WSADATA ignored;
    WSAStartup(MAKEWORD(2, 2), &ignored);
#endif
    strncpy(host, address[0] == '[' ? address + 1 : address, sizeof host - 1);
    host[sizeof host - 1] = 0;
    if ((colon = strrchr(host, ':')) == NULL)
        return server;
    *colon = 0;
    if (colon > host && colon[-1] == ']')
        colon[-1] = 0;
    if ((server.sock = connect_to(host, colon + 1)) == INVALID_SOCKET)
        return server;
    server.is_open = 1;
    if (!ask(&server, "start\n", reply, 5) || strcmp(reply, "start") != 0)
        close_server(&server);
    stamp(&server);
    return server;
}

/* Print the first lines of the output, and connect to the time server. */
static server_t print_header(const char *title, const char *address)
{
    server_t server = NO_SERVER;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    printf("Virtlab %s\n", title);
    printf("compiler: %s\nflags: %s\nbuilt: %s\n", COMPILER, VIRTLAB_FLAGS, VIRTLAB_BUILT);
    printf("bits: %d\nclock: %s\n", (int)sizeof(void *) * CHAR_BIT, CLOCK_NAME);
    printf("clock steps: %.9f s\n", step_s());
    if (address)
        server = open_server(address);
    if (!address)
        printf("time server: none\n");
    else if (!server.is_open)
        printf("time server: %s does not answer\n", address);
    else
        printf("time server: %s, shortest round trip %.6f s\n", address, server.shortest_s);
    return server;
}

/* Print the last line; an output without it was truncated. */
static void print_footer(server_t *server, const char *address)
{
    char reply[16];
    if (server->is_open)
        ask(server, "quit\n", reply, 4);
    else if (address)
        printf("time server lost: times without it are by this machine's clock\n");
    close_server(server);
    printf("end\n");
}

/* Print the times and rates of a row; `work` is in millions of its unit. */
static void print_times(duration_t elapsed, double work)
{
    printf(" %14.6f", elapsed.local_s);
    if (elapsed.is_external)
        printf(" %14.6f %10.6f", elapsed.external_s, elapsed.bound_s);
    else
        printf(" %14s %10s", "-", "-");
    printf(" %14.3f", work / elapsed.local_s);
    if (elapsed.is_external)
        printf(" %14.3f", work / elapsed.external_s);
    else
        printf(" %14s", "-");
}
