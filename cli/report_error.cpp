#include "cli/report_error.h"

#include <fmt/core.h>
#include <cstdio>

#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxMessage = 4000;

}  // namespace

int error_exit_code(const Error& error) {
  return error.kind == ErrorKind::device || error.kind == ErrorKind::not_available
             ? kExitEnvironment
             : kExitInput;
}

int record_exit_code(const Error& error) {
  return error.kind == ErrorKind::invalid_input ? kExitUsage : error_exit_code(error);
}

int report_error(std::string_view command, const Error& error) {
  report_message(command, error.message);
  return error_exit_code(error);
}

int report_usage(std::string_view command, std::string_view message) {
  report_message(command, message);
  return kExitUsage;
}

void report_message(std::string_view command, std::string_view message) {
  report_lines(command, one_line(message, kMaxMessage));
}

void report_lines(std::string_view command, std::string_view text) {
  fmt::print(stderr, "hybridscope{}{}: {}\n", command.empty() ? "" : " ", command, text);
}

void report_note(std::string_view text) {
  fmt::print(stderr, "note: {}\n", one_line(text, kMaxMessage));
}

}  // namespace hybridscope
