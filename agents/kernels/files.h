/* A file of numbered blocks that is read and written past the page cache, where the
 * system can do so; and files that are made and removed.
 */
#define BLOCK 4096
#define AT_ONCE 16 /* blocks that are written together where nothing is measured */
#ifdef __linux__
#include <sys/vfs.h>
#define OF_TMPFS 0x01021994
#define OF_RAMFS 0x858458f6
#endif
#ifndef _WIN32
#ifndef O_DIRECT
#define O_DIRECT 0
#endif
#ifndef O_BINARY
#define O_BINARY 0
#endif
#endif

typedef struct {
    int is_open;
    uint64_t blocks;
    unsigned char *held, *block; /* what was allocated, and the blocks aligned in it */
    char path[1100];
#ifdef _WIN32
    HANDLE handle;
#else
    int handle;
#endif
} file_t;

static void path_in(const char *folder, const char *name, char path[1100])
{
#ifdef _WIN32
    unsigned long process = GetCurrentProcessId();
#else
    unsigned long process = (unsigned long)getpid();
#endif
    sprintf(path, "%.1000s/virtlab-%lu.%s", folder, process, name);
}

static int make_and_remove(const char *folder)
{
    char path[1100];
    path_in(folder, "new", path);
#ifdef _WIN32
    {
        HANDLE made = CreateFileA(
            path, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        if (made == INVALID_HANDLE_VALUE)
            return 0;
        CloseHandle(made);
        return DeleteFileA(path) != 0;
    }
#else
    {
        int made = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (made < 0)
            return 0;
        close(made);
        return unlink(path) == 0;
    }
#endif
}

static int open_at(file_t *file, int is_direct)
{
#ifdef _WIN32
    DWORD flags = FILE_ATTRIBUTE_NORMAL
        | (is_direct ? FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH : 0);
    file->handle = CreateFileA(
        file->path, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_ALWAYS, flags, NULL);
    file->is_open = file->handle != INVALID_HANDLE_VALUE;
#else
    file->handle = open(file->path, O_CREAT | O_RDWR | (is_direct ? O_DIRECT : 0), 0600);
    file->is_open = file->handle >= 0;
#endif
    return file->is_open;
}

/* So many blocks at their place in the file. */
static int move_blocks(file_t *file, uint64_t number, unsigned count, int is_written)
{
    uint64_t place = number * BLOCK;
    unsigned bytes = count * BLOCK;
#ifdef _WIN32
    OVERLAPPED where;
    DWORD moved = 0;
    memset(&where, 0, sizeof where);
    where.Offset = (DWORD)place;
    where.OffsetHigh = (DWORD)(place >> 32);
    return (is_written ? WriteFile(file->handle, file->block, bytes, &moved, &where)
                       : ReadFile(file->handle, file->block, bytes, &moved, &where))
        && moved == bytes;
#else
    ssize_t moved = is_written ? pwrite(file->handle, file->block, bytes, (off_t)place)
                               : pread(file->handle, file->block, bytes, (off_t)place);
    return moved == (ssize_t)bytes;
#endif
}

static int read_block(file_t *file, uint64_t number)
{
    return move_blocks(file, number, 1, 0);
}

static int write_block(file_t *file, uint64_t number)
{
    return move_blocks(file, number, 1, 1);
}

static void close_handle(file_t *file)
{
    if (!file->is_open)
        return;
#ifdef _WIN32
    CloseHandle(file->handle);
#else
    close(file->handle);
#endif
    file->is_open = 0;
}

static void close_file(file_t *file)
{
    close_handle(file);
    if (file->path[0])
#ifdef _WIN32
        DeleteFileA(file->path);
#else
        unlink(file->path);
#endif
    free(file->held);
    file->held = NULL;
    file->path[0] = 0;
}

static int begin_file(file_t *file, const char *folder, uint64_t blocks)
{
    memset(file, 0, sizeof *file);
    path_in(folder, "blocks", file->path);
    file->blocks = blocks;
    file->held = malloc((AT_ONCE + 1) * BLOCK);
    if (!file->held)
        return 0;
    file->block = file->held + BLOCK - (uintptr_t)file->held % BLOCK;
    memset(file->block, 0, AT_ONCE * BLOCK);
    return 1;
}

/* A file system in memory takes the wish and has no disk. */
static int is_in_memory(const char *path)
{
#ifdef __linux__
    struct statfs known;
    return statfs(path, &known) == 0
        && ((unsigned)known.f_type == OF_TMPFS || (unsigned)known.f_type == OF_RAMFS);
#else
    (void)path;
    return 0;
#endif
}

/* Some file systems take the wish and refuse the first block. */
static int goes_direct(file_t *file)
{
#ifndef _WIN32
    if (O_DIRECT == 0)
        return 0;
#endif
    if (open_at(file, 1) && !is_in_memory(file->path) && write_block(file, 0)
        && read_block(file, 0))
        return 1;
    close_handle(file);
    return 0;
}

/* Write all blocks through the page cache, flush them, and open the file for good. */
static int open_file(file_t *file, const char *folder, size_t mib)
{
    uint64_t number;
    unsigned next;
    int is_written;
    if (!begin_file(file, folder, (uint64_t)mib * (1048576 / BLOCK)) || !open_at(file, 0))
        return 0;
    is_written = 1;
    for (number = 0; is_written && number < file->blocks; number += AT_ONCE) {
        for (next = 0; next < AT_ONCE; next++)
            put_number(file->block + next * BLOCK, number + next);
        is_written = move_blocks(file, number, AT_ONCE, 1);
    }
#ifdef _WIN32
    is_written = is_written && FlushFileBuffers(file->handle);
#else
    is_written = is_written && fsync(file->handle) == 0;
#endif
    close_handle(file);
    if (!is_written)
        return 0;
    put_number(file->block, 0);
    return goes_direct(file) || open_at(file, 0);
}

static int is_direct(const char *folder)
{
    file_t file;
    int is = begin_file(&file, folder, 1) && goes_direct(&file);
    close_file(&file);
    return is;
}
