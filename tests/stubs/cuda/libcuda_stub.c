/* A stub of the CUDA driver for tests, and no GPU: device memory is plain memory, kernels are known by name and run on the
 * CPU when they are launched. It proves what the host does with a driver, and nothing about PTX or times.
 *
 * The environment variable HEADWATER_CUDA_STUB names a scenario, a text file that is read again at every call, so that a test
 * can change it while a benchmark runs. A line is a key and what belongs to it:
 *
 *   fail CALL CODE      this call returns this code
 *   hang CALL           this call does not return while the line is there
 *   crash CALL          this call ends the process by a signal
 *   devices COUNT       so many GPUs (1 unless told otherwise)
 *   shows GPU GPU ...   these of the host's GPUs are shown, in this order (all, in theirs, unless told otherwise)
 *   lost GPU            this GPU is counted and cannot be opened
 *   mig GPU             of this GPU a slice is shown
 *   free BYTES          free memory (64 GiB unless told otherwise)
 *   most BYTES          the largest allocation that succeeds
 *   wrong KERNEL        this kernel leaves a wrong value
 *   busy FILE           this file is there from a launch until somebody has waited for it
 *   launch_us MICROS    each launch takes so much longer
 *   print TEXT          is written to standard output by cuInit, as drivers do when they feel like it
 *   log FILE            each call adds its name to this file
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALL __attribute__((visibility("default"))) int
typedef uintptr_t handle;

enum { OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_IMAGE = 200, NOT_FOUND = 500 };

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Finds "KEY WHAT ..." in the scenario and gives what follows; WHAT may be empty. */
static int told(const char *key, const char *what, char *rest, size_t size) {
    const char *path = getenv("HEADWATER_CUDA_STUB");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[512];
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *end = line + strlen(line);
        while (end > line && (end[-1] == '\n' || end[-1] == ' ')) *--end = 0;
        size_t length = strlen(key);
        if (strncmp(line, key, length) || line[length] != ' ') continue;
        char *word = line + length + 1;
        if (*what) {
            length = strlen(what);
            if (strncmp(word, what, length) || (word[length] && word[length] != ' ')) continue;
            word += length + (word[length] == ' ');
        }
        snprintf(rest, size, "%s", word);
        found = 1;
    }
    if (file) fclose(file);
    return found;
}

static unsigned long long number(const char *key, unsigned long long usual) {
    char rest[64];
    return told(key, "", rest, sizeof rest) ? strtoull(rest, NULL, 10) : usual;
}

/* Whatever the scenario has in store for a call; 0 when it goes on as usual. */
static int met(const char *call) {
    char rest[512];
    if (told("log", "", rest, sizeof rest)) {
        FILE *log = fopen(rest, "a");
        if (log) {
            fprintf(log, "%s\n", call);
            fclose(log);
        }
    }
    if (told("crash", call, rest, sizeof rest)) abort();
    while (told("hang", call, rest, sizeof rest)) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return told("fail", call, rest, sizeof rest) ? atoi(rest) : 0;
}
#define MEET() do { int code = met(__func__); if (code) return code; } while (0)

/* The host's number of the GPU that is shown at a place. */
static int gpu_at(int place) {
    char rest[256], *next = rest;
    if (!told("shows", "", rest, sizeof rest)) return place;
    int gpu = place;
    for (int passed = 0; passed <= place; passed++) gpu = (int)strtol(next, &next, 10);
    return gpu;
}

static int is_slice(int gpu) {
    char number[16], rest[16];
    snprintf(number, sizeof number, "%d", gpu);
    return told("mig", number, rest, sizeof rest);
}

CALL cuInit(unsigned flags) {
    char text[256];
    (void)flags;
    MEET();
    if (told("print", "", text, sizeof text)) {
        puts(text);
        fflush(stdout);
    }
    return 0;
}
CALL cuDriverGetVersion(int *version) { MEET(); *version = 12080; return 0; }
CALL cuDeviceGetCount(int *count) { MEET(); *count = (int)number("devices", 1); return 0; }
CALL cuDeviceGet(int *device, int ordinal) {
    char lost[16], rest[16];
    MEET();
    snprintf(lost, sizeof lost, "%d", gpu_at(ordinal));
    if (told("lost", lost, rest, sizeof rest)) return INVALID_DEVICE;
    if (ordinal < 0 || ordinal >= (int)number("devices", 1)) return INVALID_DEVICE;
    *device = ordinal;
    return 0;
}
CALL cuDeviceGetName(char *name, int size, int device) {
    MEET();
    snprintf(name, (size_t)size, "Stub GPU %d%s", gpu_at(device), is_slice(gpu_at(device)) ? " MIG 1g.10gb" : "");
    return 0;
}
/* Of a slice the first version tells of its GPU, the second of the slice. */
CALL cuDeviceGetUuid(char *uuid, int device) { MEET(); memset(uuid, 7 + gpu_at(device), 16); return 0; }
CALL cuDeviceGetUuid_v2(char *uuid, int device) {
    MEET();
    memset(uuid, (is_slice(gpu_at(device)) ? 0x60 : 7) + gpu_at(device), 16);
    return 0;
}
CALL cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; MEET(); *bytes = (size_t)80 << 30; return 0; }
CALL cuDeviceGetAttribute(int *value, int attribute, int device) {
    MEET();
    switch (attribute) {
    case 33: *value = 0x1b + gpu_at(device); break; /* the PCI bus */
    case 16: *value = 4; break; /* multiprocessors */
    case 38: *value = 4 << 20; break; /* the cache */
    case 75: *value = 9; break; /* compute capability */
    default: *value = 0;
    }
    return 0;
}
/* Whether the device has work that nobody has waited for, as a file for others to see. */
static void be_busy(int now) {
    char path[512];
    if (!told("busy", "", path, sizeof path)) return;
    if (!now) {
        unlink(path);
        return;
    }
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

static handle current;
CALL cuDevicePrimaryCtxRetain(handle *context, int device) { (void)device; MEET(); *context = 1; return 0; }
CALL cuDevicePrimaryCtxRelease_v2(int device) { (void)device; MEET(); return 0; }
CALL cuCtxSetCurrent(handle context) { MEET(); current = context; return 0; }
CALL cuCtxGetCurrent(handle *context) { MEET(); *context = current; return 0; }
CALL cuCtxSynchronize(void) { MEET(); return 0; }
#ifndef WITHOUT_MEMORY_INFO
CALL cuMemGetInfo_v2(size_t *free_bytes, size_t *all) {
    MEET();
    *all = (size_t)80 << 30;
    *free_bytes = (size_t)number("free", 64ull << 30);
    return 0;
}
#endif
CALL cuStreamSynchronize(handle stream) { (void)stream; MEET(); be_busy(0); return 0; }
CALL cuStreamWaitEvent(handle stream, handle event, unsigned flags) { (void)stream, (void)event, (void)flags; MEET(); return 0; }
CALL cuEventCreate(handle *event, unsigned flags) { (void)flags; MEET(); *event = (handle)calloc(1, sizeof(double)); return 0; }
CALL cuEventDestroy_v2(handle event) { MEET(); free((void *)event); return 0; }
CALL cuEventRecord(handle event, handle stream) { (void)stream; MEET(); *(double *)event = now_ms(); return 0; }
CALL cuEventSynchronize(handle event) { (void)event; MEET(); be_busy(0); return 0; }
CALL cuEventQuery(handle event) { (void)event; MEET(); return 0; }
CALL cuEventElapsedTime(float *milliseconds, handle from, handle to) {
    MEET();
    *milliseconds = (float)(*(double *)to - *(double *)from);
    return 0;
}
CALL cuMemAlloc_v2(handle *memory, size_t bytes) {
    MEET();
    if (bytes > number("most", ~0ull)) return OUT_OF_MEMORY;
    *memory = (handle)aligned_alloc(256, (bytes + 511) / 256 * 256);
    return *memory ? 0 : OUT_OF_MEMORY;
}
CALL cuMemFree_v2(handle memory) { MEET(); free((void *)memory); return 0; }
CALL cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    MEET();
    *memory = malloc(bytes);
    return *memory ? 0 : OUT_OF_MEMORY;
}
CALL cuMemFreeHost(void *memory) { MEET(); free(memory); return 0; }
CALL cuMemsetD8Async(handle memory, unsigned char value, size_t bytes, handle stream) {
    (void)stream;
    MEET();
    memset((void *)memory, value, bytes);
    return 0;
}
CALL cuMemcpyHtoDAsync_v2(handle to, const void *from, size_t bytes, handle stream) {
    (void)stream;
    MEET();
    memcpy((void *)to, from, bytes);
    return 0;
}
CALL cuMemcpyDtoHAsync_v2(void *to, handle from, size_t bytes, handle stream) {
    (void)stream;
    MEET();
    memcpy(to, (void *)from, bytes);
    return 0;
}
CALL cuModuleLoadData(handle *module, const void *image) {
    MEET();
    if (!strstr(image, ".entry")) return INVALID_IMAGE;
    *module = (handle)strdup(image);
    return 0;
}
CALL cuModuleUnload(handle module) { MEET(); free((void *)module); return 0; }
CALL cuModuleGetFunction(handle *function, handle module, const char *name) {
    char entry[160];
    MEET();
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr((const char *)module, entry)) return NOT_FOUND;
    *function = (handle)strdup(name);
    return 0;
}

static void gemm(const float *left, const float *right, float *out, unsigned size) {
    memset(out, 0, sizeof(float) * size * size);
    for (unsigned row = 0; row < size; row++)
        for (unsigned inner = 0; inner < size; inner++) {
            float factor = left[row * size + inner];
            for (unsigned column = 0; column < size; column++)
                out[row * size + column] += factor * right[inner * size + column];
        }
}

/* Runs a kernel of assets/kernels/kernels.cu; the first float of what it writes is returned. */
static float *run(const char *name, unsigned blocks, void **a) {
#define FLOATS(n) (*(float **)a[n])
#define UNSIGNED(n) (*(unsigned *)a[n])
    if (!strcmp(name, "headwater_fill")) {
        unsigned long long count = *(unsigned long long *)a[1];
        for (unsigned long long i = 0; i < count; i++) FLOATS(0)[i] = (float)((i + UNSIGNED(2)) % UNSIGNED(3));
        return FLOATS(0);
    }
    if (!strcmp(name, "headwater_copy")) {
        memcpy(FLOATS(1), FLOATS(0), 16ull * UNSIGNED(2));
        return FLOATS(1);
    }
    if (!strcmp(name, "headwater_triad")) {
        for (size_t i = 0; i < 4ull * UNSIGNED(4); i++) FLOATS(2)[i] = FLOATS(0)[i] + *(float *)a[3] * FLOATS(1)[i];
        return FLOATS(2);
    }
    if (!strcmp(name, "headwater_reduce")) {
        size_t count = 4ull * UNSIGNED(2), share = count / blocks + 1;
        for (size_t block = 0; block < blocks; block++) {
            float sum = 0;
            for (size_t i = block * share; i < (block + 1) * share && i < count; i++) sum += FLOATS(0)[i];
            FLOATS(1)[block] = sum;
        }
        return FLOATS(1);
    }
    if (!strcmp(name, "headwater_gather")) {
        unsigned mask = UNSIGNED(2) - 1;
        for (unsigned lookup = 0; lookup < UNSIGNED(5); lookup++) {
            unsigned row = (UNSIGNED(4) + lookup) & mask;
            row = (row * 0x9e3779b1u) & mask;
            row ^= row >> UNSIGNED(3);
            row = (row * 0x85ebca77u) & mask;
            memcpy(FLOATS(1) + 128ull * lookup, FLOATS(0) + 128ull * row, 512);
        }
        return FLOATS(1);
    }
    if (!strcmp(name, "headwater_gemm")) {
        gemm(FLOATS(0), FLOATS(1), FLOATS(2), UNSIGNED(3));
        return FLOATS(2);
    }
    return NULL;
}

CALL cuLaunchKernel(handle function, unsigned blocks, unsigned by, unsigned bz, unsigned threads, unsigned ty, unsigned tz,
                    unsigned shared, handle stream, void **arguments, void **extra) {
    const char *name = (const char *)function;
    char rest[64];
    (void)by, (void)bz, (void)threads, (void)ty, (void)tz, (void)shared, (void)stream, (void)extra;
    MEET();
    for (double end = now_ms() + (double)number("launch_us", 0) / 1e3; now_ms() < end;) {
    }
    if (!strcmp(name, "headwater_empty")) return 0;
    be_busy(1);
    float *written = run(name, blocks, arguments);
    if (!written) return NOT_FOUND;
    if (told("wrong", name, rest, sizeof rest)) written[0] += 1000;
    return 0;
}

CALL cuGetErrorName(int code, const char **name) {
    switch (code) {
    case 2: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case 100: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case 101: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case 200: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
    case 222: *name = "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"; break;
    case 500: *name = "CUDA_ERROR_NOT_FOUND"; break;
    case 700: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    default: *name = "CUDA_ERROR_UNKNOWN";
    }
    return 0;
}
CALL cuGetErrorString(int code, const char **text) { (void)code; *text = "as the scenario says"; return 0; }
