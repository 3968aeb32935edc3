#include "cli/record_option.h"

#include <CLI/CLI.hpp>

#include "cli/exit_codes.h"
#include "cli/report_error.h"
#include "storage/session_file.h"

namespace hybridscope {

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

int record_exit_code(const Error& error) {
  return error.kind == ErrorKind::invalid_input ? kExitUsage : error_exit_code(error);
}

}  // namespace hybridscope
