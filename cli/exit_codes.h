// Exit codes of every command (the table in README.md, "CI").
#pragma once

namespace hybridscope {

enum ExitCode : int {
  kExitFine = 0,
  kExitFindings = 1,  // findings of severity error (--strict: warnings too), unmet expectations of
                      // a scenario, a trace with decisions our engine would not make, vectors that
                      // differ, a session that does not reproduce, a lesson's answer that is wrong,
                      // no finding to shrink, a cell of a matrix that is not safe, a step that
                      // did not come
  kExitUsage = 2,
  kExitInput = 3,  // unreadable or invalid input
  kExitEnvironment = 4,
  kExitInternal = 5,  // a contract violation or any other exception: a bug of hybridscope
  kExitInterrupted = 130,
};

// For every command's help; what other codes mean is up to the command.
inline constexpr const char* kCommonExitCodes =
    "Exit codes of every command: 5 a bug of hybridscope, 130 interrupted (Ctrl-C, SIGTERM, "
    "SIGHUP).";

}  // namespace hybridscope
