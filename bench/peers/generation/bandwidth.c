// Reads a buffer of MIB mebibytes a thread, PASSES times with THREADS threads at once, and prints the best pass in bytes a second of all threads.
// The buffer is far larger than any cache, so that this is what a step gets that reads all weights once.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t words;
static int passes;
static pthread_barrier_t barrier;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static uint64_t sum_of(const uint64_t *buffer) {
  // Independent sums, which the compiler turns into wide loads.
  uint64_t sums[32] = {0};
  for (size_t at = 0; at + 32 <= words; at += 32)
    for (int lane = 0; lane < 32; lane++) sums[lane] += buffer[at + lane];
  uint64_t total = 0;
  for (int lane = 0; lane < 32; lane++) total += sums[lane];
  return total;
}

static void *read_passes(void *best) {
  uint64_t *buffer = malloc(words * sizeof *buffer), total = 0;
  memset(buffer, 1, words * sizeof *buffer);
  for (int pass = 0; pass < passes; pass++) {
    pthread_barrier_wait(&barrier);
    double start = now();
    total += sum_of(buffer);
    pthread_barrier_wait(&barrier);
    double seconds = now() - start;
    if (best != NULL && (pass == 0 || seconds < *(double *)best)) *(double *)best = seconds;
  }
  free(buffer);
  return (void *)(uintptr_t)total;
}

int main(int count, char **arguments) {
  if (count != 4) return fprintf(stderr, "usage: bandwidth THREADS MIB PASSES\n"), 2;
  int threads = atoi(arguments[1]);
  words = (size_t)atoi(arguments[2]) * 1024 * 1024 / sizeof(uint64_t);
  passes = atoi(arguments[3]);
  pthread_t others[64];
  double best = 0;
  uintptr_t total = 0;
  pthread_barrier_init(&barrier, NULL, threads);
  for (int index = 1; index < threads; index++) pthread_create(&others[index], NULL, read_passes, NULL);
  total += (uintptr_t)read_passes(&best);
  for (int index = 1; index < threads; index++) {
    void *sum;
    pthread_join(others[index], &sum);
    total += (uintptr_t)sum;
  }
  // The sum is printed, so that no compiler leaves the reads out.
  printf("%.0f %lu\n", threads * words * sizeof(uint64_t) / best, (unsigned long)total);
  return 0;
}
