/*
 * A stub of NVIDIA's management library for tests: no driver, no GPU. What it answers stands in the file "scenario"
 * beside the library, one KEY=VALUE a line, which is read anew at every call, so that a test changes a GPU while it is
 * looked at. A key that is not there is "not supported". It proves what Headwater does with answers, not what a real
 * driver answers.
 *
 *   init=CODE                 what nvmlInit_v2 returns
 *   count=N                   GPUs that are listed
 *   hang=CALL                 this call does not return while the line is there
 *   N.hang=CALL               the same for GPU N
 *   N.fail.CALL=CODE          this call of GPU N returns the code
 *   N.lost=1                  every call of GPU N says that it is lost, and so does asking for any GPU by its UUID
 *   N.xids=CODE CODE ...      events, in order; those that come after somebody listens are delivered
 *   N.KEY=VALUE               a number of GPU N, see below
 *   N.busy=FILE               while this file is there, "N.busy.KEY" goes before "N.KEY"
 *
 * The names of the calls that were made are appended to the file "calls". With -DOLD_DRIVER newer calls are missing,
 * with -DNO_CALLS all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OK = 0,
    UNINITIALIZED = 1,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    TOO_SMALL = 7,
    TIMED_OUT = 10,
    LOST = 15
};

#ifndef NO_CALLS

typedef unsigned int uint;
typedef unsigned long long ull;
typedef int ret;

/* A GPU, or a slice of one. */
struct device {
    int gpu;
    int place;
};
#define GPUS 8
#define PLACES 8
static struct device gpus[GPUS], slices[GPUS][PLACES];
/* Events of each GPU that were delivered, and who listens. */
static int delivered[GPUS];
struct set {
    int listens[GPUS];
};

static void beside(const char *name, char *path, size_t size) {
    Dl_info info;
    snprintf(path, size, "%s", name);
    if (dladdr((void *)beside, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        if (slash) snprintf(path, size, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, name);
    }
}

static int get(const char *key, char *value, size_t size) {
    char path[4096], line[4096];
    int found = 0;
    beside("scenario", path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t length = strlen(key);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            line[strcspn(line, "\n")] = 0;
            snprintf(value, size, "%s", line + length + 1);
            found = 1;
        }
    }
    fclose(file);
    return found;
}

static int get_of(int gpu, const char *key, char *value, size_t size) {
    char whole[256];
    snprintf(whole, sizeof whole, "%d.%s", gpu, key);
    return get(whole, value, size);
}

/* Notes the call, hangs if it is to hang, and says what it returns where that is settled. */
static ret enter(const char *call, int gpu) {
    char path[4096], value[256], key[256];
    beside("calls", path, sizeof path);
    FILE *file = fopen(path, "a");
    if (file) {
        fprintf(file, "%s\n", call);
        fclose(file);
    }
    while ((get("hang", value, sizeof value) && strcmp(value, call) == 0) ||
           (gpu >= 0 && get_of(gpu, "hang", value, sizeof value) && strcmp(value, call) == 0)) {
        usleep(5000);
    }
    if (gpu < 0) return OK;
    if (get_of(gpu, "lost", value, sizeof value)) return LOST;
    snprintf(key, sizeof key, "fail.%s", call);
    if (get_of(gpu, key, value, sizeof value)) return atoi(value);
    return OK;
}

static ret number(int gpu, const char *key, ull *out) {
    char value[256], busy[256];
    snprintf(busy, sizeof busy, "busy.%s", key);
    if (get_of(gpu, "busy", value, sizeof value) && access(value, F_OK) == 0 && get_of(gpu, busy, value, sizeof value)) {
        *out = strtoull(value, NULL, 0);
        return OK;
    }
    if (!get_of(gpu, key, value, sizeof value)) return NOT_SUPPORTED;
    *out = strtoull(value, NULL, 0);
    return OK;
}

static ret text(const char *value, char *out, uint size) {
    if (strlen(value) + 1 > size) return TOO_SMALL;
    strcpy(out, value);
    return OK;
}

static ret text_of(int gpu, const char *key, char *out, uint size) {
    char value[256];
    if (!get_of(gpu, key, value, sizeof value)) return NOT_SUPPORTED;
    return text(value, out, size);
}

#define ENTER(device)                          \
    int gpu = ((struct device *)(device))->gpu; \
    ret settled = enter(__func__, gpu);        \
    (void)gpu;                                 \
    if (settled != OK) return settled

/* Calls that give one number. */
#define LEVEL(call, type, key)        \
    ret call(void *device, type *out) { \
        ENTER(device);                \
        ull value;                    \
        ret got = number(gpu, key, &value); \
        if (got == OK) *out = (type)value;  \
        return got;                   \
    }
#define CHOSEN(call, key)                        \
    ret call(void *device, uint which, uint *out) { \
        ENTER(device);                           \
        ull value;                               \
        char chosen[64];                         \
        snprintf(chosen, sizeof chosen, key "%u", which); \
        ret got = number(gpu, chosen, &value);   \
        if (got == OK) *out = (uint)value;       \
        return got;                              \
    }

ret nvmlInit_v2(void) {
    char value[64];
    enter(__func__, -1);
    for (int gpu = 0; gpu < GPUS; gpu++) {
        gpus[gpu] = (struct device){gpu, -1};
        for (int place = 0; place < PLACES; place++) slices[gpu][place] = (struct device){gpu, place};
    }
    return get("init", value, sizeof value) ? atoi(value) : OK;
}

ret nvmlShutdown(void) { return enter(__func__, -1); }

ret nvmlSystemGetDriverVersion(char *out, uint size) {
    char value[64] = "570.86.15";
    enter(__func__, -1);
    get("driver", value, sizeof value);
    return text(value, out, size);
}

ret nvmlSystemGetNVMLVersion(char *out, uint size) {
    enter(__func__, -1);
    return text("12.570.86.15", out, size);
}

ret nvmlSystemGetProcessName(uint pid, char *out, uint size) {
    char key[64], value[256];
    enter(__func__, -1);
    snprintf(key, sizeof key, "process.%u", pid);
    return get(key, value, sizeof value) ? text(value, out, size) : NOT_FOUND;
}

static uint count(void) {
    char value[64];
    uint listed = get("count", value, sizeof value) ? (uint)atoi(value) : 0;
    return listed < GPUS ? listed : GPUS;
}

ret nvmlDeviceGetCount_v2(uint *out) {
    char value[64];
    enter(__func__, -1);
    if (get("count.fail", value, sizeof value)) return atoi(value);
    *out = count();
    return OK;
}

ret nvmlDeviceGetHandleByIndex_v2(uint index, void **out) {
    if (index >= count()) return INVALID;
    ret settled = enter(__func__, (int)index);
    if (settled != OK) return settled;
    *out = &gpus[index];
    return OK;
}

/* As its documentation says: it fails as soon as any GPU has fallen off the bus. */
ret nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    char value[256];
    enter(__func__, -1);
    for (uint gpu = 0; gpu < count(); gpu++) {
        if (get_of((int)gpu, "lost", value, sizeof value)) return LOST;
    }
    for (uint gpu = 0; gpu < count(); gpu++) {
        if (get_of((int)gpu, "uuid", value, sizeof value) && strcmp(value, uuid) == 0) {
            *out = &gpus[gpu];
            return OK;
        }
    }
    return NOT_FOUND;
}

/* Of a slice: "slice.PLACE.uuid". */
ret nvmlDeviceGetUUID(void *device, char *out, uint size) {
    ENTER(device);
    char key[64] = "uuid";
    int place = ((struct device *)device)->place;
    if (place >= 0) snprintf(key, sizeof key, "slice.%d.uuid", place);
    return text_of(gpu, key, out, size);
}

ret nvmlDeviceGetName(void *device, char *out, uint size) {
    ENTER(device);
    return text_of(gpu, "name", out, size);
}

struct pci {
    char legacy[16];
    uint domain, bus, device, id, subsystem;
    char bus_id[32];
};

ret nvmlDeviceGetPciInfo_v3(void *device, struct pci *out) {
    ENTER(device);
    memset(out, 0, sizeof *out);
    return text_of(gpu, "bus", out->bus_id, sizeof out->bus_id);
}

struct utilization {
    uint gpu, memory;
};

ret nvmlDeviceGetUtilizationRates(void *device, struct utilization *out) {
    ENTER(device);
    ull busy, memory;
    if (number(gpu, "utilization", &busy) || number(gpu, "utilization.memory", &memory)) return NOT_SUPPORTED;
    *out = (struct utilization){(uint)busy, (uint)memory};
    return OK;
}

/* The memory of a GPU, or of a slice: "slice.PLACE=INSTANCE:TOTAL:USED". */
static ret memory(struct device *device, ull *total, ull *used) {
    if (device->place < 0) {
        ret got = number(device->gpu, "memory.total", total);
        return got ? got : number(device->gpu, "memory.used", used);
    }
    char key[64], value[256];
    snprintf(key, sizeof key, "slice.%d", device->place);
    if (!get_of(device->gpu, key, value, sizeof value)) return NOT_FOUND;
    return sscanf(value, "%*u:%llu:%llu", total, used) == 2 ? OK : NOT_SUPPORTED;
}

struct memory_v1 {
    ull total, free, used;
};

ret nvmlDeviceGetMemoryInfo(void *device, struct memory_v1 *out) {
    ENTER(device);
    ull total, used;
    ret got = memory(device, &total, &used);
    if (got == OK) *out = (struct memory_v1){total, total - used, used};
    return got;
}

LEVEL(nvmlDeviceGetPowerUsage, uint, "power")
LEVEL(nvmlDeviceGetEnforcedPowerLimit, uint, "power.limit")
LEVEL(nvmlDeviceGetCurrPcieLinkGeneration, uint, "pcie.generation")
LEVEL(nvmlDeviceGetMaxPcieLinkGeneration, uint, "pcie.generation.max")
LEVEL(nvmlDeviceGetCurrPcieLinkWidth, uint, "pcie.width")
LEVEL(nvmlDeviceGetMaxPcieLinkWidth, uint, "pcie.width.max")
LEVEL(nvmlDeviceGetPcieReplayCounter, uint, "pcie.replays")
LEVEL(nvmlDeviceGetCurrentClocksThrottleReasons, ull, "reasons")
CHOSEN(nvmlDeviceGetTemperature, "temperature.")
CHOSEN(nvmlDeviceGetClockInfo, "clock.")
CHOSEN(nvmlDeviceGetMaxClockInfo, "clock.max.")
CHOSEN(nvmlDeviceGetPcieThroughput, "pcie.rate.")
CHOSEN(nvmlDeviceGetNvLinkState, "link.")

ret nvmlDeviceGetTotalEccErrors(void *device, uint kind, uint counter, ull *out) {
    ENTER(device);
    char key[64];
    snprintf(key, sizeof key, "ecc.%u.%u", kind, counter);
    return number(gpu, key, out);
}

ret nvmlDeviceGetNvLinkErrorCounter(void *device, uint link, uint kind, ull *out) {
    ENTER(device);
    char key[64];
    snprintf(key, sizeof key, "link.%u.errors.%u", link, kind);
    return number(gpu, key, out);
}

struct field {
    uint field, scope;
    long long timestamp, latency;
    int type;
    ret returned;
    ull value;
};

ret nvmlDeviceGetFieldValues(void *device, int asked, struct field *out) {
    ENTER(device);
    for (int place = 0; place < asked; place++) {
        char key[64];
        snprintf(key, sizeof key, "field.%u", out[place].field);
        out[place].type = 3;
        out[place].returned = number(gpu, key, &out[place].value);
    }
    return OK;
}

ret nvmlEventSetCreate(void **out) {
    enter(__func__, -1);
    *out = calloc(1, sizeof(struct set));
    return OK;
}

ret nvmlEventSetFree(void *set) {
    enter(__func__, -1);
    free(set);
    return OK;
}

/* The code of the event at a place of the list of a GPU; 0 past its end. */
static ull event(int gpu, int place) {
    char value[1024], *rest = value;
    if (!get_of(gpu, "xids", value, sizeof value)) return 0;
    ull code = 0;
    for (int passed = 0; passed <= place; passed++) code = strtoull(rest, &rest, 0);
    return code;
}

ret nvmlDeviceRegisterEvents(void *device, ull kinds, void *set) {
    ENTER(device);
    (void)kinds;
    ((struct set *)set)->listens[gpu] = 1;
    for (delivered[gpu] = 0; event(gpu, delivered[gpu]); delivered[gpu]++) {
    }
    return OK;
}

#ifndef OLD_DRIVER

struct event_data {
    void *device;
    ull kind, data;
    uint instance, compute;
};

ret nvmlEventSetWait_v2(void *set, struct event_data *out, uint timeout_ms) {
    enter(__func__, -1);
    (void)timeout_ms;
    for (int gpu = 0; gpu < GPUS; gpu++) {
        if (!((struct set *)set)->listens[gpu]) continue;
        ull code = event(gpu, delivered[gpu]);
        if (code) {
            delivered[gpu]++;
            *out = (struct event_data){&gpus[gpu], 0x8, code, ~0u, ~0u};
            return OK;
        }
    }
    return TIMED_OUT;
}

struct memory_v2 {
    uint version;
    ull total, reserved, free, used;
};

ret nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *out) {
    ENTER(device);
    ull total, used, reserved = 0;
    if (out->version != (sizeof *out | 2 << 24)) return INVALID;
    ret got = memory(device, &total, &used);
    number(gpu, "memory.reserved", &reserved);
    if (got == OK) *out = (struct memory_v2){out->version, total, reserved, total - used - reserved, used};
    return got;
}

LEVEL(nvmlDeviceGetCurrentClocksEventReasons, ull, "reasons")

ret nvmlDeviceGetRemappedRows(void *device, uint *corrected, uint *uncorrected, uint *pending, uint *failed) {
    ENTER(device);
    char value[64];
    if (!get_of(gpu, "rows", value, sizeof value)) return NOT_SUPPORTED;
    return sscanf(value, "%u,%u,%u,%u", corrected, uncorrected, pending, failed) == 4 ? OK : INVALID;
}

struct process {
    uint pid;
    ull used;
    uint instance, compute;
};

/* "processes=PID:BYTES PID:BYTES:INSTANCE ..." */
ret nvmlDeviceGetComputeRunningProcesses_v3(void *device, uint *length, struct process *out) {
    ENTER(device);
    char value[1024], *rest = value, *word;
    if (!get_of(gpu, "processes", value, sizeof value)) return NOT_SUPPORTED;
    struct process all[32];
    uint found = 0;
    while ((word = strtok_r(rest, " ", &rest)) && found < 32) {
        struct process one = {0, 0, ~0u, ~0u};
        if (sscanf(word, "%u:%llu:%u", &one.pid, &one.used, &one.instance) >= 2) all[found++] = one;
    }
    uint room = *length;
    *length = found;
    if (found == 0) return OK;
    if (room < found || !out) return TOO_SMALL;
    memcpy(out, all, found * sizeof *all);
    return OK;
}

ret nvmlDeviceGetMigMode(void *device, uint *current, uint *pending) {
    ENTER(device);
    ull mode;
    ret got = number(gpu, "mig", &mode);
    if (got == OK) *current = *pending = (uint)mode;
    return got;
}

ret nvmlDeviceGetMaxMigDeviceCount(void *device, uint *out) {
    ENTER(device);
    *out = PLACES;
    return OK;
}

ret nvmlDeviceGetMigDeviceHandleByIndex(void *device, uint place, void **out) {
    ENTER(device);
    char key[64], value[256];
    snprintf(key, sizeof key, "slice.%u", place);
    if (place >= PLACES || !get_of(gpu, key, value, sizeof value)) return NOT_FOUND;
    *out = &slices[gpu][place];
    return OK;
}

ret nvmlDeviceGetGpuInstanceId(void *device, uint *out) {
    ENTER(device);
    char key[64], value[256];
    snprintf(key, sizeof key, "slice.%d", ((struct device *)device)->place);
    if (!get_of(gpu, key, value, sizeof value)) return NOT_SUPPORTED;
    *out = (uint)strtoul(value, NULL, 0);
    return OK;
}

#endif
#endif
