#include "cli/report_error.h"

#include <fmt/core.h>

#include <cstdio>

#include "cli/exit_codes.h"
#include "cli/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxMessage = 4000;

}  // namespace

int error_exit_code(const Error& error) {
  return error.kind == ErrorKind::device || error.kind == ErrorKind::not_available
             ? kExitEnvironment
             : kExitInput;
}

int report_error(std::string_view command, const Error& error) {
  fmt::print(stderr, "hybridscope {}: {}\n", command, one_line(error.message, kMaxMessage));
  return error_exit_code(error);
}

int report_usage(std::string_view command, std::string_view message) {
  fmt::print(stderr, "hybridscope {}: {}\n", command, one_line(message, kMaxMessage));
  return kExitUsage;
}

}  // namespace hybridscope
