#include "cli/record_option.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "cli/version.h"
#include "sessions/text/number_words.h"
#include "sessions/text/shown_text.h"

namespace hybridscope {
namespace {

std::string file_size_words(const std::string& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error) return "size unknown";
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

void add_record_options(CLI::App& command, RecordOption& option) {
  command
      .add_option("--record", option.place,
                  "keep every step as session NAME of the file (docs/session-format.md); a missing "
                  "file is created, a missing name is chosen")
      ->check(CLI::Validator(
          [](const std::string& place) {
            return parse_session_place(place).file.empty() ? "names no file" : std::string();
          },
          ""))
      ->type_name("FILE.db[:NAME]");
  command
      .add_option_function<std::string>(
          "--record-level",
          [&option](const std::string& level) { option.level = *record_level_of(level); },
          "counts; blocks: rows, block events and copies too (default); full: every decision, "
          "metadata arrays and writes too")
      ->check(CLI::IsMember({"counts", "blocks", "full"}))
      ->needs("--record")
      ->type_name("LEVEL");
}

Result<std::unique_ptr<RecordedSession>> RecordedSession::begin(const RecordOption& option,
                                                                const SessionPlace& place,
                                                                SessionHeader header,
                                                                const Names& names) {
  header.level = option.level;
  auto sink =
      SessionSink::begin(std::move(header), names,
                         {.place = place, .program = std::string("hybridscope ") + kVersion});
  if (!sink.ok()) return sink.error();
  return std::unique_ptr<RecordedSession>(
      new RecordedSession(option, place.file, std::move(sink).value()));
}

RecordedSession::RecordedSession(const RecordOption& option, std::string file,
                                 std::unique_ptr<SessionSink> sink)
    : quiet_(option.quiet), file_(std::move(file)), sink_(std::move(sink)) {}

Status RecordedSession::finish(SessionStatus status, const std::string& reason) {
  if (Status finished = sink_->finish(status, reason); !finished.ok()) return finished;
  if (quiet_) return Ok{};
  fmt::print(stderr, "recorded {} as \"{}\" in {} ({})\n", counted(sink_->num_steps(), "step"),
             one_line(sink_->name()), one_line(file_), file_size_words(file_));
  return Ok{};
}

int record_exit_code(const Error& error) {
  return error.kind == ErrorKind::invalid_input ? kExitUsage : error_exit_code(error);
}

}  // namespace hybridscope
