#include "cli/process.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "sessions/text/output_file.h"
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

int report_error(std::string_view command, const Error& error, ErrorKind misuse) {
  const int code = report_error(command, error);
  return error.kind == misuse ? static_cast<int>(kExitUsage) : code;
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

void print_json(const nlohmann::ordered_json& json, int indent) {
  fmt::print("{}\n",
             json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

bool ProgressPace::due(Clock::time_point now) {
  const auto pause = watched_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000);
  if (now - last_ < pause) return false;
  last_ = now;
  return true;
}

Progress::Progress(bool quiet)
    : quiet_(quiet),
      watched_(is_watched(environment_variable, isatty(STDERR_FILENO) != 0)),
      pace_(watched_, ProgressPace::Clock::now()) {}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

CiEnvironment read_ci_environment(const EnvironmentLookup& lookup) {
  CiEnvironment environment;
  environment.github_annotations = lookup("GITHUB_ACTIONS") == "true";
  if (environment.github_annotations) environment.step_summary = lookup("GITHUB_STEP_SUMMARY");
  return environment;
}

bool is_watched(const EnvironmentLookup& lookup, bool is_terminal) {
  const std::string ci = lookup("CI");
  const bool under_ci = !ci.empty() && ci != "0" && ci != "false";
  return is_terminal && !under_ci && lookup("TERM") != "dumb";
}

namespace {

// Global, because a signal handler can reach nothing else.
volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

extern "C" void end_program(int) { _exit(kExitInterrupted); }

void handle_interrupts(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
  if (std::signal(SIGHUP, handler) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace

void end_at_interrupts() { handle_interrupts(end_program); }

void ask_for_interrupts() { handle_interrupts(on_interrupt); }

bool was_interrupted() { return interrupted != 0; }

void make_size_limit_an_error() { std::signal(SIGXFSZ, SIG_IGN); }

namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// A stream and the bytes that began a character at the end of what was printed last. Never
// destroyed: the system's library writes what is buffered after all destructors.
struct SafeStream {
  int descriptor = -1;
  int error = 0;  // of the system, when it first could not be written
  std::string* unfinished = nullptr;
};

SafeStream safe_out{STDOUT_FILENO, 0, nullptr};
SafeStream safe_err{STDERR_FILENO, 0, nullptr};

bool write_whole(SafeStream& stream, std::string_view bytes) {
  // What takes nothing from a program that is asked to stop is not waited for again.
  const int error = stream.error == EINTR ? EINTR : write_bytes(stream.descriptor, bytes);
  if (stream.error == 0) stream.error = error;
  return error == 0;
}

// Called by the C library with what was printed; 0: an error.
extern "C" ssize_t write_shown(void* cookie, const char* bytes, std::size_t size) {
  auto& stream = *static_cast<SafeStream*>(cookie);
  std::string text = *stream.unfinished + std::string(bytes, size);
  const std::size_t left = unfinished_bytes(text);
  *stream.unfinished = text.substr(text.size() - left);
  text.resize(text.size() - left);
  const bool written = write_whole(stream, escape_controls(text));
  // There is nowhere to tell that standard error cannot be written, and a command that is asked to
  // stop still finishes its report and its session: nobody has to handle either.
  if (written || &stream == &safe_err || stream.error == EINTR) return static_cast<ssize_t>(size);
  errno = stream.error;
  return 0;
}

// Replaces `stream`; where memory lacks it stays as it is.
void replace(std::FILE*& stream, SafeStream& safe, int buffering) {
  std::fflush(stream);
  if (safe.unfinished == nullptr) safe.unfinished = new std::string;
  std::FILE* made = fopencookie(
      &safe, "w", {.read = nullptr, .write = &write_shown, .seek = nullptr, .close = nullptr});
  if (made == nullptr) return;
  std::setvbuf(made, nullptr, buffering, kBufferBytes);
  stream = made;
}

void finish(std::FILE* stream, SafeStream& safe) {
  std::fflush(stream);
  if (safe.unfinished != nullptr)
    write_whole(safe, escape_controls(std::exchange(*safe.unfinished, {})));
}

// Erases the last line of the terminal that stderr is. Requires: it is one.
void erase_line() { write_whole(safe_err, "\r\033[K"); }

}  // namespace

void make_streams_safe() {
  replace(stdout, safe_out, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF);
  replace(stderr, safe_err, _IONBF);
}

int finish_streams() {
  finish(stdout, safe_out);
  finish(stderr, safe_err);
  return safe_out.error;
}

void Progress::print(const std::string& text) {
  if (watched_) erase_line();
  fmt::print(stderr, "{}{}", text, watched_ ? ' ' : '\n');
  std::fflush(stderr);
  shown_ = watched_;
}

void Progress::clear() {
  if (shown_) erase_line();
  shown_ = false;
}

}  // namespace hybridscope
