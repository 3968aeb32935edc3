#include "cli/report_error.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/exit_codes.h"

namespace hybridscope {

int report_error(std::string_view command, const Error& error) {
  fmt::print(stderr, "hybridscope {}: {}\n", command, error.message);
  return error.kind == ErrorKind::device || error.kind == ErrorKind::not_available
             ? kExitEnvironment
             : kExitInput;
}

}  // namespace hybridscope
