/* The clock, the time server and what both kernels say of themselves.
 *
 * Portable C99: Linux and other POSIX systems, Windows. Nothing but the C library.
 * Each program includes this file once.
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

#define EXCHANGES 8 /* the best of so many is a stamp */
#define PATIENCE_S 10

/* A way to a time server; its shortest round trip is known better with every use. */
typedef struct {
    int is_open;
    socket_t sock;
    double shortest_s;
    double longest_s; /* a stamp that took so long asks no more */
} server_t;

static const server_t NOBODY = {0, INVALID_SOCKET, 1e9, 1e9};

/* An instant: by our clock when the server was asked and had answered, and by its. */
typedef struct {
    double asked_s, heard_s, server_s;
    int is_told;
} stamp_t;

/* A duration by our clock, and (if is_external) by the server's within a bound. */
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

/* By how much the clock moves at a time, as it is seen to move: the median of a few
 * steps. Measured once; a clock that is not seen to move has steps of a day. */
static double step_s(void)
{
    static double found_s = 0;
    double steps[6], before_s = now_s();
    int seen = 0, readings;
    for (readings = 0; found_s == 0 && seen < 6 && readings < 5000000; readings++) {
        double read_s = now_s();
        if (read_s > before_s)
            steps[seen++] = read_s - before_s;
        before_s = read_s;
    }
    if (found_s == 0 && seen == 6) {
        int i, j;
        for (i = 2; i < 6; i++) /* the first began before we looked */
            for (j = i; j > 1 && steps[j - 1] > steps[j]; j--) {
                double larger = steps[j - 1];
                steps[j - 1] = steps[j];
                steps[j] = larger;
            }
        found_s = steps[3];
    }
    if (found_s == 0)
        found_s = 86400;
    return found_s;
}

static void hang_up(server_t *server)
{
    if (server->is_open)
        CLOSE(server->sock);
    server->is_open = 0;
}

/* One request in one write. Hears up to a newline or `size` bytes; says if it could. */
static int ask(server_t *server, const char *request, char *reply, int size)
{
    int length = (int)strlen(request), heard = 0;
    if (send(server->sock, request, (size_t)length, MSG_NOSIGNAL) != length)
        return 0;
    while (heard < size && (heard == 0 || reply[heard - 1] != '\n')) {
        int got = (int)recv(server->sock, reply + heard, (size_t)(size - heard), 0);
        if (got <= 0)
            return 0;
        heard += got;
    }
    reply[heard] = 0;
    return 1;
}

/* The server's time. One that fails once is not asked again. */
static stamp_t exchange(server_t *server)
{
    stamp_t taken = {0, 0, 0, 0};
    char reply[32], *end = reply;
    if (!server->is_open)
        return taken;
    taken.asked_s = now_s();
    if (ask(server, "time\n", reply, sizeof reply - 1))
        taken.server_s = strtod(reply, &end) * 1e-6;
    taken.heard_s = now_s();
    taken.is_told = end != reply && *end == '\n' && reply[0] >= '0' && reply[0] <= '9';
    if (!taken.is_told)
        hang_up(server);
    else if (taken.heard_s - taken.asked_s < server->shortest_s)
        server->shortest_s = taken.heard_s - taken.asked_s;
    return taken;
}

/* The exchange with the shortest round trip of several. */
static stamp_t stamp(server_t *server)
{
    stamp_t best = exchange(server), next = best;
    double until_s = best.asked_s + server->longest_s;
    int asked;
    for (asked = 1;
         asked < EXCHANGES && server->is_open && next.heard_s < until_s; asked++) {
        next = exchange(server);
        if (next.is_told && next.heard_s - next.asked_s < best.heard_s - best.asked_s)
            best = next;
    }
    return best;
}

/* What lay between two stamps. The way back of the first and the way there of the
 * second are in the server's difference: together one round trip, the shortest known;
 * what each took longer than that is the bound. To it come the steps of the clocks: of
 * ours in four round trips and in the microseconds between a stamp and the work, of the
 * server's, which tells microseconds, in two. */
static duration_t between(
    const server_t *server, stamp_t first, double began_s, double ended_s, stamp_t last)
{
    duration_t found = {ended_s - began_s, 0, 0, first.is_told && last.is_told};
    if (found.is_external) {
        double least_s = server->shortest_s;
        double beside_s = (began_s - first.heard_s) + (last.asked_s - ended_s);
        found.external_s = last.server_s - first.server_s - least_s - beside_s;
        found.bound_s = (first.heard_s - first.asked_s - least_s)
            + (last.heard_s - last.asked_s - least_s) + 6 * step_s() + 2e-6;
        found.is_external = found.external_s > 0;
    }
    return found;
}

/* Send at once, and wait neither for an answer nor for a connection for long: Linux by
 * itself would try to connect for two minutes. */
static void set_up(socket_t sock)
{
    int yes = 1;
#ifdef _WIN32
    DWORD patience = PATIENCE_S * 1000;
#else
    struct timeval patience = {PATIENCE_S, 0};
#endif
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, (const char *)&yes, sizeof yes);
    setsockopt(
        sock, SOL_SOCKET, SO_RCVTIMEO, (const char *)&patience, sizeof patience);
    setsockopt(
        sock, SOL_SOCKET, SO_SNDTIMEO, (const char *)&patience, sizeof patience);
}

static socket_t connected(const char *host, const char *port)
{
    struct addrinfo hints, *found = NULL, *each;
    socket_t sock = INVALID_SOCKET;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return INVALID_SOCKET;
    for (each = found; each && sock == INVALID_SOCKET; each = each->ai_next) {
        sock = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        if (sock == INVALID_SOCKET)
            continue;
        set_up(sock);
        if (connect(sock, each->ai_addr, (socklen_t)each->ai_addrlen) != 0) {
            CLOSE(sock);
            sock = INVALID_SOCKET;
        }
    }
    freeaddrinfo(found);
    return sock;
}

/* Open HOST:PORT ([::1]:8037 too) as the studies' client does, and learn the way. */
static server_t open_server(const char *address)
{
    server_t server = NOBODY;
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
    if ((server.sock = connected(host, colon + 1)) == INVALID_SOCKET)
        return server;
    server.is_open = 1;
    if (!ask(&server, "start\n", reply, 5) || strcmp(reply, "start") != 0)
        hang_up(&server);
    stamp(&server);
    return server;
}

/* The head of every output, up to what only one of the programs has. */
static server_t introduce(const char *title, const char *address)
{
    server_t server = NOBODY;
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

/* The last words; without this line an output was cut. */
static void conclude(server_t *server, const char *address)
{
    char reply[16];
    if (server->is_open)
        ask(server, "quit\n", reply, 4);
    else if (address)
        printf("time server lost: times without it are by this machine's clock\n");
    hang_up(server);
    printf("end\n");
}

/* A row's times and rates; `work` is in 1e6 of its unit. */
static void print_times(duration_t took, double work)
{
    printf(" %14.6f", took.local_s);
    if (took.is_external)
        printf(" %14.6f %10.6f", took.external_s, took.bound_s);
    else
        printf(" %14s %10s", "-", "-");
    printf(" %14.3f", work / took.local_s);
    if (took.is_external)
        printf(" %14.3f", work / took.external_s);
    else
        printf(" %14s", "-");
}
