// The kernels of 'headwater bench'. scripts/kernels compiles them to kernels.ptx, which is what the binary holds: no
// toolkit is needed where it runs. Every name here is looked up by src/bench/cuda, and the numbers are those of
// src/bench/inputs.rs, which checks the results.

// Does nothing: what is timed is the way to it.
extern "C" __global__ void headwater_empty() {}

// out[i] = i % period
extern "C" __global__ void headwater_fill(float* out, unsigned long long count, unsigned shift, unsigned period) {
    unsigned long long place = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (; place < count; place += step) {
        out[place] = (float)((place + shift) % period);
    }
}

// to = from, four floats at a time
extern "C" __global__ void headwater_copy(const float4* from, float4* to, unsigned fours) {
    unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < fours) {
        to[place] = from[place];
    }
}

// sums = first + scalar * second, four floats at a time
extern "C" __global__ void headwater_triad(const float4* first, const float4* second, float4* sums, float scalar,
                                           unsigned fours) {
    unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < fours) {
        float4 a = first[place];
        float4 b = second[place];
        sums[place] = make_float4(a.x + scalar * b.x, a.y + scalar * b.y, a.z + scalar * b.z, a.w + scalar * b.w);
    }
}

// One sum for each block; the host adds those. Blocks have 256 threads.
extern "C" __global__ void headwater_reduce(const float4* values, float* sums, unsigned fours) {
    __shared__ float shared[256];
    float sum = 0.0f;
    for (unsigned place = blockIdx.x * blockDim.x + threadIdx.x; place < fours; place += gridDim.x * blockDim.x) {
        float4 four = values[place];
        sum += (four.x + four.y) + (four.z + four.w);
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] += shared[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = shared[0];
    }
}

// Rows of 128 floats: 32 threads copy four floats each. rows is a power of two, bits half of its logarithm.
extern "C" __global__ void headwater_gather(const float4* table, float4* found, unsigned rows, unsigned bits,
                                            unsigned start, unsigned lookups) {
    unsigned lookup = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (lookup >= lookups) {
        return;
    }
    unsigned mask = rows - 1;
    unsigned row = (start + lookup) & mask;
    row = (row * 0x9e3779b1u) & mask;
    row ^= row >> bits;
    row = (row * 0x85ebca77u) & mask;
    unsigned part = threadIdx.x % 32;
    found[(unsigned long long)lookup * 32 + part] = table[(unsigned long long)row * 32 + part];
}

// out = left * right, square matrices of a multiple of 64. A block of 16 x 16 threads computes a tile of 64 x 64, each
// thread four rows and four columns of it, over slices of 16.
extern "C" __global__ void __launch_bounds__(256) headwater_gemm(const float* left, const float* right, float* out,
                                                                 unsigned size) {
    __shared__ float rows[16][64 + 4];
    __shared__ float columns[16][64];
    unsigned x = threadIdx.x % 16;
    unsigned y = threadIdx.x / 16;
    unsigned row = blockIdx.y * 64;
    unsigned column = blockIdx.x * 64;
    float sums[4][4] = {};
    for (unsigned slice = 0; slice < size; slice += 16) {
        for (unsigned part = 0; part < 4; part++) {
            unsigned place = threadIdx.x + part * 256;
            rows[place % 16][place / 16] = left[(row + place / 16) * size + slice + place % 16];
            columns[place / 64][place % 64] = right[(slice + place / 64) * size + column + place % 64];
        }
        __syncthreads();
#pragma unroll
        for (unsigned inner = 0; inner < 16; inner++) {
            float a[4], b[4];
#pragma unroll
            for (unsigned part = 0; part < 4; part++) {
                a[part] = rows[inner][y * 4 + part];
                b[part] = columns[inner][x * 4 + part];
            }
#pragma unroll
            for (unsigned i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned j = 0; j < 4; j++) {
                    sums[i][j] += a[i] * b[j];
                }
            }
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < 4; j++) {
            out[(row + y * 4 + i) * size + column + x * 4 + j] = sums[i][j];
        }
    }
}
