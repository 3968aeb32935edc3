// Exit codes of every command (README, "Exit codes").
#pragma once

namespace hybridscope {

enum ExitCode : int {
  kExitFine = 0,
  kExitFindings = 1,  // findings of severity error, unmet expectations, vectors that differ;
                      // --strict: warnings too
  kExitUsage = 2,
  kExitInput = 3,  // unreadable or invalid input
  kExitEnvironment = 4,
  kExitInternal = 5,  // a contract violation: a bug of hybridscope
  kExitInterrupted = 130,
};

}  // namespace hybridscope
