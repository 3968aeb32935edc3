// HS_EXPECT guards contracts between our own units. A failure is a bug of hybridscope, never of its
// input: it throws ContractViolation, which is caught where a command is applied (exit code 5).
#pragma once

#include <stdexcept>
#include <string>

namespace hybridscope {

class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void contract_violation(const char* condition, const char* file, int line);

}  // namespace hybridscope

#define HS_EXPECT(condition)                                             \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::hybridscope::contract_violation(#condition, __FILE__, __LINE__); \
  } while (false)
