// How every command reports errors from outside the program, and the exit code that follows.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// Exit codes of every command (the table in README.md, "CI").

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

// Environment for what the machine lacks (device, lock, disk), else unreadable or invalid input.
int error_exit_code(const Error& error);
// The exit code for an error of a session or of its place: an unusable name is a usage error.
int record_exit_code(const Error& error);

// Prints "hybridscope COMMAND: message" on stderr, control characters escaped: names of
// files and sessions are foreign text. Returns the exit code.
int report_error(std::string_view command, const Error& error);

// Reports an invalid command line as report_error() does; returns kExitUsage.
int report_usage(std::string_view command, std::string_view message);

// Reports a message where the exit code follows from something else.
void report_message(std::string_view command, std::string_view message);

// Reports text of several lines, which stay separate. Requires: no foreign text in it. An empty
// command prints "hybridscope: text": no command was chosen, or the program itself failed.
void report_lines(std::string_view command, std::string_view text);

// Prints "note: text" on stderr, control characters escaped: the command goes on.
void report_note(std::string_view text);

}  // namespace hybridscope
