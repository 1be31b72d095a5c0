/* A second process (a thread on Windows) with pipes, child processes, memory pages, and
 * a description of this machine.
 */
#ifdef _WIN32
typedef HANDLE end_t;
#define SECOND_PROCESS_KIND "thread"
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
#define SECOND_PROCESS_KIND "process"
extern char **environ;
#endif

/* The probe contains several kernels, so a child needs the name of this kernel. */
#ifdef VIRTLAB_PROBE
#define KERNEL_WORD " system"
#define KERNEL_ARGUMENT "system",
#else
#define KERNEL_WORD ""
#define KERNEL_ARGUMENT
#endif

/* Two pipes, each with an end to read and an end to write. */
typedef struct {
    end_t request[2], reply[2];
    int is_open;
} pipes_t;

typedef struct {
    int is_running;
#ifdef _WIN32
    HANDLE thread;
#else
    pid_t process;
    unsigned long allowed[128];
    long allowed_bytes;
#endif
} second_process_t;

static uint64_t read_number(const unsigned char *bytes)
{
    uint64_t number = 0;
    int i;
    for (i = 7; i >= 0; i--)
        number = number << 8 | bytes[i];
    return number;
}

static void write_number(unsigned char *bytes, uint64_t number)
{
    int i;
    for (i = 0; i < 8; i++, number >>= 8)
        bytes[i] = (unsigned char)number;
}

static int read_all(end_t from, void *bytes, size_t count)
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

static int write_all(end_t to, const void *bytes, size_t count)
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
    pipes->is_open = CreatePipe(&pipes->request[0], &pipes->request[1], NULL, 0)
        && CreatePipe(&pipes->reply[0], &pipes->reply[1], NULL, 65536);
#else
    pipes->is_open = pipe(pipes->request) == 0 && pipe(pipes->reply) == 0;
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
    int i;
    for (i = 0; pipes->is_open && i < 2; i++) {
        close_end(pipes->request[i]);
        close_end(pipes->reply[i]);
    }
    pipes->is_open = 0;
}

/* Second process: answer each byte with the byte plus one, until the pipe ends. */
static void answer_bytes(void *argument)
{
    pipes_t *pipes = argument;
    unsigned char byte;
    while (read_all(pipes->request[0], &byte, 1)) {
        byte++;
        if (!write_all(pipes->reply[1], &byte, 1))
            return;
    }
}

/* Second process: write numbered blocks until the reader closes the pipe. */
static void write_blocks(void *argument)
{
    static unsigned char block[65536];
    pipes_t *pipes = argument;
    uint64_t number = 0;
    do
        write_number(block, number++);
    while (write_all(pipes->reply[1], block, sizeof block));
}

#ifdef _WIN32
typedef struct {
    void (*function)(void *);
    void *argument;
} thread_call_t;

static DWORD WINAPI run_thread(LPVOID argument)
{
    thread_call_t call = *(thread_call_t *)argument;
    free(argument);
    call.function(call.argument);
    return 0;
}
#endif

/* Pin this process and its later children to the first allowed processor, or unpin it.
 * Return whether the system supports this. */
static int pin_to_one_processor(second_process_t *second, int is_pinned)
{
#if defined(_WIN32)
    (void)second;
    static DWORD_PTR allowed, all;
    if (is_pinned && !GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all))
        return 0;
    return SetProcessAffinityMask(
               GetCurrentProcess(), is_pinned ? allowed & (~allowed + 1) : allowed) != 0;
#elif defined(__linux__)
    unsigned long mask[128];
    long size = second->allowed_bytes;
    if (!is_pinned)
        return size > 0
            && syscall(SYS_sched_setaffinity, 0, (size_t)size, second->allowed) == 0;
    size = syscall(SYS_sched_getaffinity, 0, sizeof second->allowed, second->allowed);
    second->allowed_bytes = size;
    memset(mask, 0, sizeof mask);
    if (size > 0) {
        size_t i, bits = 8 * sizeof *mask;
        for (i = 0; i < bits * 128; i++)
            if (second->allowed[i / bits] >> i % bits & 1) {
                mask[i / bits] = 1UL << i % bits;
                return syscall(SYS_sched_setaffinity, 0, (size_t)size, mask) == 0;
            }
    }
    return 0;
#else
    (void)second;
    (void)is_pinned;
    return 0;
#endif
}

static int can_pin(void)
{
    second_process_t second;
    int can;
    memset(&second, 0, sizeof second);
    can = pin_to_one_processor(&second, 1);
    pin_to_one_processor(&second, 0);
    return can;
}

/* Call a function in a second process, which is killed when this process ends. */
static int start_second_process(
    second_process_t *second, void (*function)(void *), void *argument)
{
#ifdef _WIN32
    thread_call_t *call = malloc(sizeof *call);
    if (!call)
        return 0;
    call->function = function;
    call->argument = argument;
    second->thread = CreateThread(NULL, 0, run_thread, call, 0, NULL);
    second->is_running = second->thread != NULL;
#else
    fflush(NULL);
    second->process = fork();
    if (second->process == 0) {
#if defined(__linux__)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        function(argument);
        _exit(0);
    }
    second->is_running = second->process > 0;
#endif
    return second->is_running;
}

static void stop_second_process(second_process_t *second)
{
    if (!second->is_running)
        return;
#ifdef _WIN32
    TerminateThread(second->thread, 0); /* it owns only its end of a pipe */
    CloseHandle(second->thread);
#else
    kill(second->process, SIGKILL);
    waitpid(second->process, NULL, 0);
#endif
    second->is_running = 0;
}

#ifndef _WIN32
static int wait_for_exit_code(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#endif

/* Start this program with the exit code 7; return the actual exit code, or -1. */
static int spawn_self(const char *self)
{
#ifdef _WIN32
    STARTUPINFOA startup;
    PROCESS_INFORMATION child;
    char line[1024];
    DWORD code = (DWORD)-1;
    memset(&startup, 0, sizeof startup);
    startup.cb = sizeof startup;
    if (strlen(self) > sizeof line - 40)
        return -1;
    sprintf(line, "\"%s\"" KERNEL_WORD " --exit-with 7", self);
    if (!CreateProcessA(self, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &child))
        return -1;
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    return (int)code;
#else
    char *words[5] = {(char *)self, KERNEL_ARGUMENT "--exit-with", "7", NULL};
    pid_t child;
    if (posix_spawn(&child, self, NULL, NULL, words, environ) != 0)
        return -1;
    return wait_for_exit_code(child);
#endif
}

static const char *own_path(const char *argv0)
{
#ifdef _WIN32
    static char path[MAX_PATH];
    DWORD length = GetModuleFileNameA(NULL, path, sizeof path);
    return length > 0 && length < sizeof path ? path : argv0;
#else
    return access("/proc/self/exe", X_OK) == 0 ? "/proc/self/exe" : argv0;
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

/* Allocate untouched memory in small pages. */
static void *allocate_pages(size_t bytes)
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

static void release_pages(void *area, size_t bytes)
{
#ifdef _WIN32
    (void)bytes;
    VirtualFree(area, 0, MEM_RELEASE);
#else
    munmap(area, bytes);
#endif
}

/* Return the number of page faults of this process; 0 if the system does not count. */
static uint64_t page_fault_count(void)
{
#ifdef _WIN32
    return 0;
#else
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (uint64_t)used.ru_minflt : 0;
#endif
}

/* Print the hypervisor's signature, the twelve characters of CPUID 0x40000000. */
static void print_hypervisor(void)
{
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
    unsigned leaf[4] = {1, 0, 0, 0}, i;
    char letters[13] = "";
#define CPUID(number) \
    __asm__ volatile("cpuid" : "=a"(leaf[0]), "=b"(leaf[1]), "=c"(leaf[2]), "=d"(leaf[3]) \
                     : "a"(number), "c"(0))
    CPUID(1);
    if (leaf[2] >> 31) {
        CPUID(0x40000000);
        memcpy(letters, leaf + 1, 12);
        for (i = 0; i < 12; i++)
            if (letters[i] < ' ' || letters[i] > '~')
                letters[i] = letters[i] ? '?' : 0;
        printf("hypervisor signature: %s\n", letters[0] ? letters : "unreadable");
    } else
        printf("hypervisor signature: none\n");
#endif
}

static void print_machine(void)
{
#ifdef _WIN32
    OSVERSIONINFOA info;
    SYSTEM_INFO system;
    memset(&info, 0, sizeof info);
    info.dwOSVersionInfoSize = sizeof info;
    GetVersionExA(&info);
    GetSystemInfo(&system);
    printf("machine: Windows %lu.%lu.%lu\n", (unsigned long)info.dwMajorVersion,
           (unsigned long)info.dwMinorVersion, (unsigned long)info.dwBuildNumber);
    printf("processors: %lu\n", (unsigned long)system.dwNumberOfProcessors);
#else
    struct utsname info;
    if (uname(&info) == 0)
        printf("machine: %s %s %s\n", info.sysname, info.release, info.machine);
    printf("processors: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
#endif
    print_hypervisor();
}
