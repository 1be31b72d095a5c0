/* The other side of a network, and how it is spoken to.
 *
 *     echo\n     from now on each byte comes back as the next one
 *     take N\n   N numbered blocks follow; "took\n" if all came in their order
 *     give N\n   N numbered blocks come
 *
 * Anything else, or ten seconds of silence, ends the connection.
 */
#define NET_BLOCK 65536
#define MOST_BLOCKS 1e9

typedef struct {
    int is_open;
    socket_t sock, listening;
    beside_t beside;
    unsigned char byte;
    int is_echoing;
} peer_t;

static void begin_sockets(void)
{
#ifdef _WIN32
    WSADATA ignored;
    WSAStartup(MAKEWORD(2, 2), &ignored);
#else
    signal(SIGPIPE, SIG_IGN);
#endif
}

static int hear(socket_t sock, void *bytes, size_t count)
{
    char *next = bytes;
    while (count > 0) {
        int got = (int)recv(sock, next, count, 0);
        if (got <= 0)
            return 0;
        next += got;
        count -= (size_t)got;
    }
    return 1;
}

static int say(socket_t sock, const void *bytes, size_t count)
{
    const char *next = bytes;
    while (count > 0) {
        int put = (int)send(sock, next, count, MSG_NOSIGNAL);
        if (put <= 0)
            return 0;
        next += put;
        count -= (size_t)put;
    }
    return 1;
}

static int say_blocks(socket_t sock, uint64_t count)
{
    static unsigned char zeros[NET_BLOCK];
    unsigned char *block = malloc(NET_BLOCK); /* several may be served at a time */
    uint64_t number;
    int is_said = block != NULL;
    if (block)
        memcpy(block, zeros, NET_BLOCK);
    for (number = 0; is_said && number < count; number++) {
        put_number(block, number);
        is_said = say(sock, block, NET_BLOCK);
    }
    free(block);
    return is_said;
}

static int hear_blocks(socket_t sock, uint64_t count)
{
    unsigned char *block = malloc(NET_BLOCK);
    uint64_t number;
    int is_right = block != NULL;
    for (number = 0; is_right && number < count; number++)
        is_right = hear(sock, block, NET_BLOCK) && number_in(block) == number;
    free(block);
    return is_right;
}

static int hear_line(socket_t sock, char *line, int size)
{
    int heard = 0;
    while (heard < size - 1 && hear(sock, line + heard, 1))
        if (line[heard++] == '\n') {
            line[heard - 1] = 0;
            return 1;
        }
    return 0;
}

static void echo_for_ever(socket_t sock)
{
    unsigned char byte;
    while (hear(sock, &byte, 1)) {
        byte++;
        if (!say(sock, &byte, 1))
            return;
    }
}

/* Speak with one client until it hangs up, errs or is silent. */
static void attend(socket_t sock)
{
    char line[64], *end;
    set_up(sock);
    while (hear_line(sock, line, sizeof line)) {
        double count = strlen(line) > 5 ? strtod(line + 5, &end) : -1;
        if (strcmp(line, "echo") == 0) {
            echo_for_ever(sock);
            break;
        }
        if (!(count >= 0 && count <= MOST_BLOCKS) || *end)
            break;
        if (strncmp(line, "take ", 5) == 0) {
            if (!hear_blocks(sock, (uint64_t)count) || !say(sock, "took\n", 5))
                break;
        } else if (strncmp(line, "give ", 5) != 0 || !say_blocks(sock, (uint64_t)count))
            break;
    }
    CLOSE(sock);
}

static void attend_one(void *given)
{
    attend(*(socket_t *)given);
}

/* Whoever comes, one after the other. */
static void attend_all(void *given)
{
    socket_t sock, listening = *(socket_t *)given;
    while ((sock = accept(listening, NULL, NULL)) != INVALID_SOCKET)
        attend(sock);
}

static socket_t listening_at(const char *host, const char *port)
{
    struct addrinfo hints, *found = NULL;
    socket_t sock = INVALID_SOCKET;
    int yes = 1;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return INVALID_SOCKET;
    sock = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    if (sock != INVALID_SOCKET) {
#ifndef _WIN32 /* there it would let two listen at one port */
        setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, (const char *)&yes, sizeof yes);
#endif
        (void)yes;
        if (bind(sock, found->ai_addr, (socklen_t)found->ai_addrlen) != 0
            || listen(sock, 16) != 0) {
            CLOSE(sock);
            sock = INVALID_SOCKET;
        }
    }
    freeaddrinfo(found);
    return sock;
}

/* Which port it is, where the system chose one. */
static const char *port_of(socket_t listening, char port[16])
{
    struct sockaddr_storage known;
    socklen_t size = sizeof known;
    unsigned found = 0;
    if (getsockname(listening, (struct sockaddr *)&known, &size) == 0)
        found = known.ss_family == AF_INET6
            ? ntohs(((struct sockaddr_in6 *)&known)->sin6_port)
            : ntohs(((struct sockaddr_in *)&known)->sin_port);
    sprintf(port, "%u", found);
    return port;
}

/* HOST:PORT, [::1]:PORT or PORT; host is empty where none is named. */
static const char *split(const char *address, char host[256])
{
    const char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0;
    if (length > 1 && address[0] == '[' && colon[-1] == ']') {
        address++;
        length -= 2;
    }
    if (length > 255)
        length = 255;
    memcpy(host, address, length);
    host[length] = 0;
    return colon ? colon + 1 : address;
}

/* Be the other side until somebody ends us; each client has its own process. */
static int serve(const char *address)
{
    char host[256], own[16];
    const char *port = split(address, host);
    socket_t sock, listening = listening_at(host[0] ? host : "127.0.0.1", port);
    if (listening == INVALID_SOCKET) {
        fprintf(stderr, "Cannot listen at %s.\n", address);
        return 1;
    }
    printf("serving at %s:%s\n", host[0] ? host : "127.0.0.1", port_of(listening, own));
    fflush(stdout);
#ifndef _WIN32
    signal(SIGCHLD, SIG_IGN);
#endif
    while ((sock = accept(listening, NULL, NULL)) != INVALID_SOCKET) {
        beside_t beside;
        memset(&beside, 0, sizeof beside);
#ifdef _WIN32
        {
            socket_t *given = malloc(sizeof *given); /* as long as the thread */
            if (given) {
                *given = sock;
                begin_beside(&beside, attend_one, given);
                CloseHandle(beside.thread);
            }
        }
#else
        begin_beside(&beside, attend_one, &sock);
        CLOSE(sock);
#endif
    }
    return 1;
}

/* Begin to serve on our own loopback; the port is the system's choice. */
static int begin_loopback(peer_t *peer, char port[16])
{
    peer->listening = listening_at("127.0.0.1", "0");
    if (peer->listening == INVALID_SOCKET)
        return 0;
    port_of(peer->listening, port);
    return begin_beside(&peer->beside, attend_all, &peer->listening);
}

static int open_peer(peer_t *peer, const char *address)
{
    char host[256] = "127.0.0.1", own[16];
    const char *port = own;
    peer->listening = peer->sock = INVALID_SOCKET;
    if (address)
        port = split(address, host);
    else if (!begin_loopback(peer, own))
        return 0;
    peer->sock = connected(host, port);
    peer->is_open = peer->sock != INVALID_SOCKET;
    return peer->is_open;
}

static void close_peer(peer_t *peer)
{
    if (peer->is_open)
        CLOSE(peer->sock);
    peer->is_open = 0;
    end_beside(&peer->beside);
    if (peer->listening != INVALID_SOCKET)
        CLOSE(peer->listening);
}

static int echo_bytes(peer_t *peer, uint64_t count)
{
    unsigned char got;
    if (!peer->is_echoing && !say(peer->sock, "echo\n", 5))
        return 0;
    peer->is_echoing = 1;
    for (; count > 0; count--, peer->byte = got)
        if (!say(peer->sock, &peer->byte, 1) || !hear(peer->sock, &got, 1)
            || got != (unsigned char)(peer->byte + 1))
            return 0;
    return 1;
}

static int request(peer_t *peer, const char *what, uint64_t count)
{
    char line[64];
    sprintf(line, "%s %.0f\n", what, (double)count);
    return say(peer->sock, line, strlen(line));
}

static int send_to_peer(peer_t *peer, uint64_t count)
{
    char line[16];
    return request(peer, "take", count) && say_blocks(peer->sock, count)
        && hear_line(peer->sock, line, sizeof line) && strcmp(line, "took") == 0;
}

static int receive_from_peer(peer_t *peer, uint64_t count)
{
    return request(peer, "give", count) && hear_blocks(peer->sock, count);
}
