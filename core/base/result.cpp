#include "core/base/result.h"

namespace hybridscope {

void contract_violation(const char* condition, const char* file, int line) {
  throw ContractViolation(std::string("contract violation: ") + condition + " (" + file + ":" +
                          std::to_string(line) + ")");
}

}  // namespace hybridscope
