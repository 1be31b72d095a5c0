/* What stands beside this process: a second one (a thread on Windows), pipes to it,
 * pages, children; and what this machine says of itself.
 */
#ifdef _WIN32
typedef HANDLE end_t;
#define BESIDE_NAME "thread"
#else
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
typedef int end_t;
#define BESIDE_NAME "process"
extern char **environ;
#endif

/* How this program is told to be a child: the probe holds other kernels, too. */
#ifdef VIRTLAB_PROBE
#define VIRTLAB_WORD " system"
#define VIRTLAB_WORDS "system",
#else
#define VIRTLAB_WORD ""
#define VIRTLAB_WORDS
#endif

/* Two pipes, each with its end to read from and its end to write to. */
typedef struct {
    end_t there[2], back[2];
    int is_open;
} pipes_t;

typedef struct {
    int is_there;
#ifdef _WIN32
    HANDLE thread;
#else
    pid_t process;
    unsigned long allowed[128];
    long allowed_bytes;
#endif
} beside_t;

static uint64_t number_in(const unsigned char *bytes)
{
    uint64_t number = 0;
    int place;
    for (place = 7; place >= 0; place--)
        number = number << 8 | bytes[place];
    return number;
}

static void put_number(unsigned char *bytes, uint64_t number)
{
    int place;
    for (place = 0; place < 8; place++, number >>= 8)
        bytes[place] = (unsigned char)number;
}

static int read_whole(end_t from, void *bytes, size_t count)
{
    unsigned char *next = bytes;
    while (count > 0) {
#ifdef _WIN32
        DWORD got = 0;
        if (!ReadFile(from, next, (DWORD)count, &got, NULL) || got == 0)
            return 0;
#else
        ssize_t got = read(from, next, count);
        if (got <= 0)
            return 0;
#endif
        next += got;
        count -= (size_t)got;
    }
    return 1;
}

static int write_whole(end_t to, const void *bytes, size_t count)
{
    const unsigned char *next = bytes;
    while (count > 0) {
#ifdef _WIN32
        DWORD put = 0;
        if (!WriteFile(to, next, (DWORD)count, &put, NULL) || put == 0)
            return 0;
#else
        ssize_t put = write(to, next, count);
        if (put <= 0)
            return 0;
#endif
        next += put;
        count -= (size_t)put;
    }
    return 1;
}

static int open_pipes(pipes_t *pipes)
{
#ifdef _WIN32
    pipes->is_open = CreatePipe(&pipes->there[0], &pipes->there[1], NULL, 0)
        && CreatePipe(&pipes->back[0], &pipes->back[1], NULL, 65536);
#else
    pipes->is_open = pipe(pipes->there) == 0 && pipe(pipes->back) == 0;
#endif
    return pipes->is_open;
}

static void close_end(end_t end)
{
#ifdef _WIN32
    CloseHandle(end);
#else
    close(end);
#endif
}

static void close_pipes(pipes_t *pipes)
{
    int place;
    for (place = 0; pipes->is_open && place < 2; place++) {
        close_end(pipes->there[place]);
        close_end(pipes->back[place]);
    }
    pipes->is_open = 0;
}

/* The second process: each byte comes back as the next one, until the pipe ends. */
static void answer_bytes(void *given)
{
    pipes_t *pipes = given;
    unsigned char byte;
    while (read_whole(pipes->there[0], &byte, 1)) {
        byte++;
        if (!write_whole(pipes->back[1], &byte, 1))
            return;
    }
}

/* The second process: numbered blocks, until nobody reads them. */
static void write_blocks(void *given)
{
    static unsigned char block[65536];
    pipes_t *pipes = given;
    uint64_t number = 0;
    do
        put_number(block, number++);
    while (write_whole(pipes->back[1], block, sizeof block));
}

#ifdef _WIN32
typedef struct {
    void (*what)(void *);
    void *given;
} begun_t;

static DWORD WINAPI run_begun(LPVOID given)
{
    begun_t begun = *(begun_t *)given;
    free(given);
    begun.what(begun.given);
    return 0;
}
#endif

/* Stay, with all that is begun from now on, on the first processor that is allowed to
 * us; or go back to all of them. Says whether the system does so. */
static int stay_on_one(beside_t *beside, int is_wished)
{
#if defined(_WIN32)
    (void)beside;
    static DWORD_PTR allowed, all;
    if (is_wished && !GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all))
        return 0;
    return SetProcessAffinityMask(
               GetCurrentProcess(), is_wished ? allowed & (~allowed + 1) : allowed) != 0;
#elif defined(__linux__)
    unsigned long mask[128];
    long size = beside->allowed_bytes;
    if (!is_wished)
        return size > 0
            && syscall(SYS_sched_setaffinity, 0, (size_t)size, beside->allowed) == 0;
    size = syscall(SYS_sched_getaffinity, 0, sizeof beside->allowed, beside->allowed);
    beside->allowed_bytes = size;
    memset(mask, 0, sizeof mask);
    if (size > 0) {
        size_t place, bits = 8 * sizeof *mask;
        for (place = 0; place < bits * 128; place++)
            if (beside->allowed[place / bits] >> place % bits & 1) {
                mask[place / bits] = 1UL << place % bits;
                return syscall(SYS_sched_setaffinity, 0, (size_t)size, mask) == 0;
            }
    }
    return 0;
#else
    (void)beside;
    (void)is_wished;
    return 0;
#endif
}

static int can_stay(void)
{
    beside_t beside;
    int can;
    memset(&beside, 0, sizeof beside);
    can = stay_on_one(&beside, 1);
    stay_on_one(&beside, 0);
    return can;
}

/* Do something beside us; it dies with us. */
static int begin_beside(beside_t *beside, void (*what)(void *), void *given)
{
#ifdef _WIN32
    begun_t *begun = malloc(sizeof *begun);
    if (!begun)
        return 0;
    begun->what = what;
    begun->given = given;
    beside->thread = CreateThread(NULL, 0, run_begun, begun, 0, NULL);
    beside->is_there = beside->thread != NULL;
#else
    fflush(NULL);
    beside->process = fork();
    if (beside->process == 0) {
#if defined(__linux__)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        what(given);
        _exit(0);
    }
    beside->is_there = beside->process > 0;
#endif
    return beside->is_there;
}

static void end_beside(beside_t *beside)
{
    if (!beside->is_there)
        return;
#ifdef _WIN32
    TerminateThread(beside->thread, 0); /* it holds nothing but its end of a pipe */
    CloseHandle(beside->thread);
#else
    kill(beside->process, SIGKILL);
    waitpid(beside->process, NULL, 0);
#endif
    beside->is_there = 0;
}

#ifndef _WIN32
static int exit_code_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#endif

/* Start this program anew; it ends with 7. Returns what it ended with, -1 if nothing. */
static int spawned(const char *self)
{
#ifdef _WIN32
    STARTUPINFOA how;
    PROCESS_INFORMATION child;
    char line[1024];
    DWORD code = (DWORD)-1;
    memset(&how, 0, sizeof how);
    how.cb = sizeof how;
    if (strlen(self) > sizeof line - 40)
        return -1;
    sprintf(line, "\"%s\"" VIRTLAB_WORD " --exit-with 7", self);
    if (!CreateProcessA(self, line, NULL, NULL, FALSE, 0, NULL, NULL, &how, &child))
        return -1;
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    return (int)code;
#else
    char *words[5] = {(char *)self, VIRTLAB_WORDS "--exit-with", "7", NULL};
    pid_t child;
    if (posix_spawn(&child, self, NULL, NULL, words, environ) != 0)
        return -1;
    return exit_code_of(child);
#endif
}

static const char *own_path(const char *called)
{
#ifdef _WIN32
    static char path[MAX_PATH];
    DWORD length = GetModuleFileNameA(NULL, path, sizeof path);
    return length > 0 && length < sizeof path ? path : called;
#else
    return access("/proc/self/exe", X_OK) == 0 ? "/proc/self/exe" : called;
#endif
}

static size_t page_bytes(void)
{
#ifdef _WIN32
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwPageSize;
#else
    return (size_t)sysconf(_SC_PAGESIZE);
#endif
}

/* Memory that nobody touched, in small pages. */
static void *fresh_pages(size_t bytes)
{
#ifdef _WIN32
    return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
    void *area = mmap(
        NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return NULL;
#ifdef MADV_NOHUGEPAGE
    madvise(area, bytes, MADV_NOHUGEPAGE);
#endif
    return area;
#endif
}

static void give_back_pages(void *area, size_t bytes)
{
#ifdef _WIN32
    (void)bytes;
    VirtualFree(area, 0, MEM_RELEASE);
#else
    munmap(area, bytes);
#endif
}

/* How many page faults the kernel has counted of us; 0 where it does not count. */
static uint64_t faults_counted(void)
{
#ifdef _WIN32
    return 0;
#else
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_minflt : 0;
#endif
}

/* Whose hypervisor this guest sees: the twelve letters of CPUID's 0x40000000. */
static void print_hypervisor(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
    unsigned leaf[4] = {1, 0, 0, 0}, place;
    char letters[13] = "";
#define CPUID(number) \
    __asm__ volatile("cpuid" : "=a"(leaf[0]), "=b"(leaf[1]), "=c"(leaf[2]), "=d"(leaf[3]) \
                     : "a"(number), "c"(0))
    CPUID(1);
    if (leaf[2] >> 31) {
        CPUID(0x40000000);
        memcpy(letters, leaf + 1, 12);
        for (place = 0; place < 12; place++)
            if (letters[place] < ' ' || letters[place] > '~')
                letters[place] = letters[place] ? '?' : 0;
        printf("hypervisor signature: %s\n", letters[0] ? letters : "unreadable");
    } else
        printf("hypervisor signature: none\n");
#endif
}

static void print_machine(void)
{
#ifdef _WIN32
    OSVERSIONINFOA known;
    SYSTEM_INFO system;
    memset(&known, 0, sizeof known);
    known.dwOSVersionInfoSize = sizeof known;
    GetVersionExA(&known);
    GetSystemInfo(&system);
    printf("machine: Windows %lu.%lu.%lu\n", (unsigned long)known.dwMajorVersion,
           (unsigned long)known.dwMinorVersion, (unsigned long)known.dwBuildNumber);
    printf("processors: %lu\n", (unsigned long)system.dwNumberOfProcessors);
#else
    struct utsname known;
    if (uname(&known) == 0)
        printf("machine: %s %s %s\n", known.sysname, known.release, known.machine);
    printf("processors: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
#endif
    print_hypervisor();
}
