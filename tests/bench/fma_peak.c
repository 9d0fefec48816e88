// SPDX-License-Identifier: MIT
// fma_peak.c - the processor's peak: multiply-adds on registers alone, on 1 … THREADS threads at
// once.
//
//     cc -O3 -march=native -pthread fma_peak.c -o fma_peak && ./fma_peak THREADS
//
// Prints GFLOP/s of all threads together: the best of several short runs, because a peak is a bound
// and not a mean. sgemm of a good BLAS reaches 90 to 97 % of it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
enum { WIDTH = 16, SUMS = 24 };
#else
enum { WIDTH = 8, SUMS = 12 };
#endif
#ifdef QUICK // shows that it works
enum { ROUNDS = 20000, RUNS = 1 };
#else
enum { ROUNDS = 2000000, RUNS = 7 };
#endif
typedef float vec __attribute__((vector_size(WIDTH * 4)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *work(void *result) {
    vec sum[SUMS], factor = {0}, term = {0};
    factor += 0.9999f;
    term += 1e-4f;
    for (int i = 0; i < SUMS; i++) sum[i] = term * (float)i;
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 32
        for (int i = 0; i < SUMS; i++) sum[i] = sum[i] * factor + term;
    }
    vec all = sum[0];
    for (int i = 1; i < SUMS; i++) all += sum[i];
    *(float *)result = all[0]; // otherwise the compiler would drop the loop
    return NULL;
}

static double run(int threads) {
    pthread_t thread[256];
    float result[256];
    double start = now();
    for (int t = 1; t < threads; t++)
        if (pthread_create(&thread[t], NULL, work, &result[t])) exit(1);
    work(&result[0]);
    for (int t = 1; t < threads; t++) pthread_join(thread[t], NULL);
    const double flop = 2.0 * (double)WIDTH * (double)SUMS * (double)ROUNDS * threads;
    return flop / (now() - start) * 1e-9;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (threads < 1 || threads > 256) return 2;
    double best = 0;
    for (int i = 0; i < RUNS; i++) {
        double rate = run(threads);
        if (rate > best) best = rate;
    }
    printf("%.1f\n", best);
    return 0;
}
