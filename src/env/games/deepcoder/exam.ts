/** The tests that grade answers to a task under a configuration, and their limits. */
import type { TestSuite } from "../../sandbox/Grade.ts";
import type { DeepCoderConfig } from "./DeepCoderConfig.ts";
import type { Task } from "./Task.ts";

export const testSuiteOf = (config: DeepCoderConfig, { entry, starter, tests }: Task): TestSuite => ({
  entry,
  preamble: starter !== "",
  tests: config.max_tests === 0 ? tests : tests.slice(0, config.max_tests),
  limits: {
    testMs: config.test_timeout * 1000,
    totalMs: config.total_timeout * 1000,
    memoryBytes: config.memory_mb * 1024 * 1024,
    outputBytes: config.output_kb * 1024,
  },
  timeoutFailsAll: config.timeout_fails_all,
});
