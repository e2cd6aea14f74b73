/* Answers MKL's question whether the CPU is Intel's with yes. Preloaded, it lets MKL take its AVX-512 path on AMD's CPUs; it changes no result
   beyond rounding. */
int mkl_serv_intel_cpu_true(void) { return 1; }
