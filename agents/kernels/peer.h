/* The other end of the network tests, with this protocol:
 *
 *     echo\n     from now on, the server answers each byte with the byte plus one
 *     take N\n   N numbered blocks follow; the answer is "took\n" if all are in order
 *     give N\n   the answer is N numbered blocks
 *
 * Anything else, or ten seconds without data, ends the connection.
 */
#define NET_BLOCK 65536
#define MAX_BLOCKS 1e9

typedef struct {
    int is_open;
    socket_t sock, listener;
    second_process_t second;
    unsigned char byte;
    int is_echoing;
} peer_t;

static void init_sockets(void)
{
#ifdef _WIN32
    WSADATA ignored;
    WSAStartup(MAKEWORD(2, 2), &ignored);
#else
    signal(SIGPIPE, SIG_IGN);
#endif
}

static int receive_all(socket_t sock, void *bytes, size_t count)
{
    char *next = bytes;
    while (count > 0) {
        int received = (int)recv(sock, next, count, 0);
        if (received <= 0)
            return 0;
        next += received;
        count -= (size_t)received;
    }
    return 1;
}

static int send_all(socket_t sock, const void *bytes, size_t count)
{
    const char *next = bytes;
    while (count > 0) {
        int sent = (int)send(sock, next, count, MSG_NOSIGNAL);
        if (sent <= 0)
            return 0;
        next += sent;
        count -= (size_t)sent;
    }
    return 1;
}

static int send_numbered_blocks(socket_t sock, uint64_t count)
{
    static unsigned char zeros[NET_BLOCK];
    /* Allocated, not static, because several clients may be served at once. */
    unsigned char *block = malloc(NET_BLOCK);
    uint64_t number;
    int is_sent = block != NULL;
    if (block)
        memcpy(block, zeros, NET_BLOCK);
    for (number = 0; is_sent && number < count; number++) {
        write_number(block, number);
        is_sent = send_all(sock, block, NET_BLOCK);
    }
    free(block);
    return is_sent;
}

static int receive_numbered_blocks(socket_t sock, uint64_t count)
{
    unsigned char *block = malloc(NET_BLOCK);
    uint64_t number;
    int is_right = block != NULL;
    for (number = 0; is_right && number < count; number++)
        is_right = receive_all(sock, block, NET_BLOCK) && read_number(block) == number;
    free(block);
    return is_right;
}

static int receive_line(socket_t sock, char *line, int size)
{
    int length = 0;
    while (length < size - 1 && receive_all(sock, line + length, 1))
        if (line[length++] == '\n') {
            line[length - 1] = 0;
            return 1;
        }
    return 0;
}

static void echo_until_closed(socket_t sock)
{
    unsigned char byte;
    while (receive_all(sock, &byte, 1)) {
        byte++;
        if (!send_all(sock, &byte, 1))
            return;
    }
}

/* Serve one client until it disconnects, sends an error or times out. */
static void serve_client(socket_t sock)
{
    char line[64], *end;
    set_socket_options(sock);
    while (receive_line(sock, line, sizeof line)) {
        double count = strlen(line) > 5 ? strtod(line + 5, &end) : -1;
        if (strcmp(line, "echo") == 0) {
            echo_until_closed(sock);
            break;
        }
        if (!(count >= 0 && count <= MAX_BLOCKS) || *end)
            break;
        if (strncmp(line, "take ", 5) == 0) {
            if (!receive_numbered_blocks(sock, (uint64_t)count) || !send_all(sock, "took\n", 5))
                break;
        } else if (strncmp(line, "give ", 5) != 0 || !send_numbered_blocks(sock, (uint64_t)count))
            break;
    }
    CLOSE(sock);
}

static void serve_client_thread(void *argument)
{
    serve_client(*(socket_t *)argument);
}

/* Serve all clients, one after the other. */
static void serve_clients(void *argument)
{
    socket_t sock, listener = *(socket_t *)argument;
    while ((sock = accept(listener, NULL, NULL)) != INVALID_SOCKET)
        serve_client(sock);
}

static socket_t listen_on(const char *host, const char *port)
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
#ifndef _WIN32 /* on Windows it would allow two listeners on one port */
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

/* Return the local port, which the system may have chosen. */
static const char *local_port(socket_t listener, char port[16])
{
    struct sockaddr_storage address_info;
    socklen_t size = sizeof address_info;
    unsigned found = 0;
    if (getsockname(listener, (struct sockaddr *)&address_info, &size) == 0)
        found = address_info.ss_family == AF_INET6
            ? ntohs(((struct sockaddr_in6 *)&address_info)->sin6_port)
            : ntohs(((struct sockaddr_in *)&address_info)->sin_port);
    sprintf(port, "%u", found);
    return port;
}

/* Split HOST:PORT, [::1]:PORT or PORT; the host may be empty. Return the port. */
static const char *split_address(const char *address, char host[256])
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

/* Serve until the process is killed, each client in its own process. */
static int serve(const char *address)
{
    char host[256], own_port[16];
    const char *port = split_address(address, host);
    socket_t sock, listener = listen_on(host[0] ? host : "127.0.0.1", port);
    if (listener == INVALID_SOCKET) {
        fprintf(stderr, "Cannot listen at %s.\n", address);
        return 1;
    }
    printf("serving at %s:%s\n", host[0] ? host : "127.0.0.1", local_port(listener, own_port));
    fflush(stdout);
#ifndef _WIN32
    signal(SIGCHLD, SIG_IGN);
#endif
    while ((sock = accept(listener, NULL, NULL)) != INVALID_SOCKET) {
        second_process_t second;
        memset(&second, 0, sizeof second);
#ifdef _WIN32
        {
            socket_t *argument = malloc(sizeof *argument); /* the thread uses it */
            if (argument) {
                *argument = sock;
                start_second_process(&second, serve_client_thread, argument);
                CloseHandle(second.thread);
            }
        }
#else
        start_second_process(&second, serve_client_thread, &sock);
        CLOSE(sock);
#endif
    }
    return 1;
}

/* Start a server on the loopback, with a port that the system chooses. */
static int start_loopback(peer_t *peer, char port[16])
{
    peer->listener = listen_on("127.0.0.1", "0");
    if (peer->listener == INVALID_SOCKET)
        return 0;
    local_port(peer->listener, port);
    return start_second_process(&peer->second, serve_clients, &peer->listener);
}

static int open_peer(peer_t *peer, const char *address)
{
    char host[256] = "127.0.0.1", own_port[16];
    const char *port = own_port;
    peer->listener = peer->sock = INVALID_SOCKET;
    if (address)
        port = split_address(address, host);
    else if (!start_loopback(peer, own_port))
        return 0;
    peer->sock = connect_to(host, port);
    peer->is_open = peer->sock != INVALID_SOCKET;
    return peer->is_open;
}

static void close_peer(peer_t *peer)
{
    if (peer->is_open)
        CLOSE(peer->sock);
    peer->is_open = 0;
    stop_second_process(&peer->second);
    if (peer->listener != INVALID_SOCKET)
        CLOSE(peer->listener);
}

static int echo_bytes(peer_t *peer, uint64_t count)
{
    unsigned char received;
    if (!peer->is_echoing && !send_all(peer->sock, "echo\n", 5))
        return 0;
    peer->is_echoing = 1;
    for (; count > 0; count--, peer->byte = received)
        if (!send_all(peer->sock, &peer->byte, 1) || !receive_all(peer->sock, &received, 1)
            || received != (unsigned char)(peer->byte + 1))
            return 0;
    return 1;
}

static int request(peer_t *peer, const char *command, uint64_t count)
{
    char line[64];
    sprintf(line, "%s %.0f\n", command, (double)count);
    return send_all(peer->sock, line, strlen(line));
}

static int send_to_peer(peer_t *peer, uint64_t count)
{
    char line[16];
    return request(peer, "take", count) && send_numbered_blocks(peer->sock, count)
        && receive_line(peer->sock, line, sizeof line) && strcmp(line, "took") == 0;
}

static int receive_from_peer(peer_t *peer, uint64_t count)
{
    return request(peer, "give", count) && receive_numbered_blocks(peer->sock, count);
}
