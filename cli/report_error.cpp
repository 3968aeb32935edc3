#include "cli/report_error.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/exit_codes.h"

namespace hybridscope {

int error_exit_code(const Error& error) {
  return error.kind == ErrorKind::device || error.kind == ErrorKind::not_available
             ? kExitEnvironment
             : kExitInput;
}

int report_error(std::string_view command, const Error& error) {
  fmt::print(stderr, "hybridscope {}: {}\n", command, error.message);
  return error_exit_code(error);
}

}  // namespace hybridscope
