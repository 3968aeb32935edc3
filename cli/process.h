// What a command has of its process: exit codes and how it reports errors, environment variables,
// signals, safe standard streams, and progress on stderr.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
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
// An error of the kind `misuse` is a usage error.
int report_error(std::string_view command, const Error& error, ErrorKind misuse);

// Reports an invalid command line as report_error() does; returns kExitUsage.
int report_usage(std::string_view command, std::string_view message);

// Reports a message where the exit code follows from something else.
void report_message(std::string_view command, std::string_view message);

// Reports text of several lines, which stay separate. Requires: no foreign text in it. An empty
// command prints "hybridscope: text": no command was chosen, or the program itself failed.
void report_lines(std::string_view command, std::string_view text);

// Prints "note: text" on stderr, control characters escaped: the command goes on.
void report_note(std::string_view text);

// Prints JSON on stdout, by default over several lines; file names in it may not be UTF-8.
void print_json(const nlohmann::ordered_json& json, int indent = 2);
inline constexpr int kOneLine = -1;  // indent

// Progress of a long command on stderr: on a watched terminal one line that is overwritten,
// elsewhere (a log, continuous integration) a line every 10 s.

// When the next progress line is due.
class ProgressPace {
 public:
  using Clock = std::chrono::steady_clock;

  ProgressPace(bool watched, Clock::time_point start) : watched_(watched), last_(start) {}

  // Is it time? Then the next time is counted from `now`.
  bool due(Clock::time_point now);

 private:
  bool watched_;
  Clock::time_point last_;
};

class Progress {
 public:
  // `quiet`: says nothing at all.
  explicit Progress(bool quiet = false);

  // `make_text` gives one line and is called only when it is shown.
  template <class MakeText>
  void show(const MakeText& make_text) {
    if (!quiet_ && pace_.due(ProgressPace::Clock::now())) print(make_text());
  }

  // Before anything else is written.
  void clear();

 private:
  void print(const std::string& text);

  bool quiet_;
  bool watched_;
  ProgressPace pace_;
  bool shown_ = false;  // a line is there to be erased
};

// The value of an environment variable, "" when it is not set. Nothing else reads them.
using EnvironmentLookup = std::function<std::string(const char* name)>;

// A variable of this process's environment.
std::string environment_variable(const char* name);

// What the environment asks to be written for continuous integration.
struct CiEnvironment {
  bool github_annotations = false;  // GITHUB_ACTIONS=true
  std::string step_summary;         // GITHUB_STEP_SUMMARY under GitHub, a file; empty: none
};

CiEnvironment read_ci_environment(const EnvironmentLookup& lookup);

// Is a person watching a terminal? False under CI and on one that cannot erase (TERM=dumb).
bool is_watched(const EnvironmentLookup& lookup, bool is_terminal);

// The signals of every command. Ctrl-C, SIGTERM and SIGHUP end it with exit code 130; one that has
// something to finish is asked to stop, and a second signal kills it.

// From now on a SIGINT, SIGTERM or SIGHUP ends the program at once, with exit code 130. A SIGHUP
// that is ignored (nohup) stays ignored, here and below.
void end_at_interrupts();

// From now on the first SIGINT, SIGTERM or SIGHUP only sets was_interrupted(); the next one of the
// same kind kills it. For commands that look at was_interrupted() often.
void ask_for_interrupts();
// The program then ends with exit code 130, whatever the command returns.
bool was_interrupted();

// From now on a limit on the size of files (ulimit -f) fails the write that reaches it, with EFBIG,
// as a full disk does with ENOSPC; the signal SIGXFSZ does not kill the program.
void make_size_limit_an_error();

// Standard output and standard error show text and nothing else: whatever a command prints, a
// control character in it (of a name, a path, a file) reaches the terminal as escape_controls()
// shows it. JSON keeps its meaning.

// From now on `stdout` and `stderr` are such streams; std::cout and std::cerr are not. Each call
// site still decides what a line end in foreign text does (one_line).
void make_streams_safe();

// Flushes both; writes what may have been the beginning of a character. Returns the system's error
// number of the first failure to write standard output, 0: none.
int finish_streams();

}  // namespace hybridscope
