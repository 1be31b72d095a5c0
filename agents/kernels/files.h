/* A file of numbered blocks, which bypasses the page cache if the system supports it,
 * and files that are created and deleted.
 */
#define BLOCK 4096
#define BATCH_BLOCKS 16 /* blocks per write while the file is prepared */
#ifdef __linux__
#include <sys/vfs.h>
#define TMPFS_TYPE 0x01021994
#define RAMFS_TYPE 0x858458f6
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
    unsigned char *buffer, *block; /* allocated memory, and the aligned blocks inside */
    char path[1100];
#ifdef _WIN32
    HANDLE handle;
#else
    int handle;
#endif
} file_t;

static void temporary_path(const char *folder, const char *name, char path[1100])
{
#ifdef _WIN32
    unsigned long process = GetCurrentProcessId();
#else
    unsigned long process = (unsigned long)getpid();
#endif
    sprintf(path, "%.1000s/virtlab-%lu.%s", folder, process, name);
}

static int create_and_delete(const char *folder)
{
    char path[1100];
    temporary_path(folder, "new", path);
#ifdef _WIN32
    {
        HANDLE handle = CreateFileA(
            path, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        if (handle == INVALID_HANDLE_VALUE)
            return 0;
        CloseHandle(handle);
        return DeleteFileA(path) != 0;
    }
#else
    {
        int handle = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (handle < 0)
            return 0;
        close(handle);
        return unlink(path) == 0;
    }
#endif
}

static int open_handle(file_t *file, int is_direct)
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

/* Read or write blocks at their position in the file. */
static int transfer_blocks(file_t *file, uint64_t number, unsigned count, int is_write)
{
    uint64_t offset = number * BLOCK;
    unsigned bytes = count * BLOCK;
#ifdef _WIN32
    OVERLAPPED position;
    DWORD transferred = 0;
    memset(&position, 0, sizeof position);
    position.Offset = (DWORD)offset;
    position.OffsetHigh = (DWORD)(offset >> 32);
    return (is_write ? WriteFile(file->handle, file->block, bytes, &transferred, &position)
                       : ReadFile(file->handle, file->block, bytes, &transferred, &position))
        && transferred == bytes;
#else
    ssize_t transferred = is_write ? pwrite(file->handle, file->block, bytes, (off_t)offset)
                               : pread(file->handle, file->block, bytes, (off_t)offset);
    return transferred == (ssize_t)bytes;
#endif
}

static int read_block(file_t *file, uint64_t number)
{
    return transfer_blocks(file, number, 1, 0);
}

static int write_block(file_t *file, uint64_t number)
{
    return transfer_blocks(file, number, 1, 1);
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
    free(file->buffer);
    file->buffer = NULL;
    file->path[0] = 0;
}

static int init_file(file_t *file, const char *folder, uint64_t blocks)
{
    memset(file, 0, sizeof *file);
    temporary_path(folder, "blocks", file->path);
    file->blocks = blocks;
    file->buffer = malloc((BATCH_BLOCKS + 1) * BLOCK);
    if (!file->buffer)
        return 0;
    file->block = file->buffer + BLOCK - (uintptr_t)file->buffer % BLOCK;
    memset(file->block, 0, BATCH_BLOCKS * BLOCK);
    return 1;
}

/* File systems in memory accept O_DIRECT, but have no disk. */
static int is_in_memory(const char *path)
{
#ifdef __linux__
    struct statfs info;
    return statfs(path, &info) == 0
        && ((unsigned)info.f_type == TMPFS_TYPE || (unsigned)info.f_type == RAMFS_TYPE);
#else
    (void)path;
    return 0;
#endif
}

/* Open without the page cache. Some file systems accept this and refuse the first
 * block. */
static int open_direct(file_t *file)
{
#ifndef _WIN32
    if (O_DIRECT == 0)
        return 0;
#endif
    if (open_handle(file, 1) && !is_in_memory(file->path) && write_block(file, 0)
        && read_block(file, 0))
        return 1;
    close_handle(file);
    return 0;
}

/* Write all blocks through the page cache, flush them, and reopen the file. */
static int open_file(file_t *file, const char *folder, size_t mib)
{
    uint64_t number;
    unsigned next;
    int is_write;
    if (!init_file(file, folder, (uint64_t)mib * (1048576 / BLOCK)) || !open_handle(file, 0))
        return 0;
    is_write = 1;
    for (number = 0; is_write && number < file->blocks; number += BATCH_BLOCKS) {
        for (next = 0; next < BATCH_BLOCKS; next++)
            write_number(file->block + next * BLOCK, number + next);
        is_write = transfer_blocks(file, number, BATCH_BLOCKS, 1);
    }
#ifdef _WIN32
    is_write = is_write && FlushFileBuffers(file->handle);
#else
    is_write = is_write && fsync(file->handle) == 0;
#endif
    close_handle(file);
    if (!is_write)
        return 0;
    write_number(file->block, 0);
    return open_direct(file) || open_handle(file, 0);
}

static int is_direct(const char *folder)
{
    file_t file;
    int is = init_file(&file, folder, 1) && open_direct(&file);
    close_file(&file);
    return is;
}
