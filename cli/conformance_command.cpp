#include "cli/conformance_command.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <cstdio>

#include "cli/conformance_report.h"
#include "cli/exit_codes.h"
#include "cli/progress.h"
#include "cli/standard_output.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMaxInvalidShown = 10;  // of one file

void print_invalid(const FileReport& file) {
  if (const std::string hint = name_hint(file); !hint.empty())
    fmt::print(stderr, "hybridscope conformance: {}\n", hint);
  for (std::size_t i = 0; i < file.invalid.size() && i < kMaxInvalidShown; ++i)
    fmt::print(stderr, "hybridscope conformance: {}\n", file.invalid[i].message);
  if (file.invalid.size() > kMaxInvalidShown)
    fmt::print(stderr, "hybridscope conformance: {}: {} more lines are no vectors\n", file.path,
               file.invalid.size() - kMaxInvalidShown);
}

ConformanceReport check_all(const ConformanceCommandOptions& options, const Backends& backends) {
  ConformanceReport report{
      .paths = options.paths, .filter = options.filter, .timings = options.timings, .files = {}};
  Progress progress;
  for (const std::string& path : options.paths) {
    const auto files = vector_files(path);
    if (!files.ok()) {
      FileReport& unreadable = report.files.emplace_back();
      unreadable.path = path;
      unreadable.invalid.push_back({.line = 0, .message = files.error().message});
      print_invalid(unreadable);
      continue;
    }
    for (const std::string& file : files.value()) {
      report.files.push_back(check_vector_file(
          file, {.filter = options.filter,
                 .execute_copies = backends.execute_copies,
                 .progress = [&](std::int64_t cases) {
                   progress.show([&] { return fmt::format("{}: {} cases", file, cases); });
                 }}));
      progress.clear();
      print_invalid(report.files.back());
    }
  }
  return report;
}

int exit_code(const ConformanceReport& report) {
  if (report.invalid() > 0) return kExitInput;
  if (report.cases() == 0) {
    fmt::print(stderr,
               "hybridscope conformance: nothing to check: no case has an id that contains "
               "\"{}\"\n",
               report.filter);
    return kExitUsage;
  }
  return report.passed() == report.cases() ? kExitFine : kExitFindings;
}

}  // namespace

void add_conformance_options(CLI::App& command, ConformanceCommandOptions& options) {
  command.footer(
      "Examples:\n"
      "  hybridscope conformance tests/golden\n"
      "  hybridscope conformance tests/golden/gdn_builder.jsonl.zst --filter gdn_17\n"
      "  hybridscope conformance new_scheduler.jsonl --json --junit report.xml\n"
      "\n"
      "A file is recognised by its name (gdn_builder, big_gdn_builder), else by its fields.\n"
      "Files that zstd compressed are unpacked while they are read, whatever they are called;\n"
      "of a folder every *.jsonl and *.jsonl.zst is checked, x.jsonl beside x.jsonl.zst too.\n"
      "The text shows the first failure of each file in full, --json and --junit the first 20.\n"
      "Exit codes: 0 every field is as expected, 1 some case differs, 2 usage or no case "
      "selected,\n"
      "3 a file or line that is no vector or a folder without any (the others are still checked),\n"
      "4 environment, 5 a bug of hybridscope.");
  command.add_option("files", options.paths, "vector files, or folders of *.jsonl and *.jsonl.zst")
      ->required()
      ->type_name("FILE|DIR");
  command.add_option("--filter", options.filter, "only cases whose id contains this")
      ->type_name("ID");
  command.add_flag("--json", options.json, "one object {config, summary, files}");
  command.add_option("--junit", options.junit, "write a JUnit report, one testcase a file")
      ->type_name("FILE");
  command.add_flag_callback(
      "--no-timings", [&options] { options.timings = false; },
      "leave out times, so that two runs compare equal");
}

int conformance_command(const ConformanceCommandOptions& options, const Backends& backends) {
  const OutputTarget json{"--json", options.json ? "-" : ""};
  const OutputTarget junit{"--junit", options.junit};
  if (const Status one = check_one_document({json, junit}); !one.ok()) {
    fmt::print(stderr, "hybridscope conformance: {}\n", one.error().message);
    return kExitUsage;
  }
  const ConformanceReport report = check_all(options, backends);
  if (options.json)
    // The names of files may be no UTF-8.
    fmt::print("{}\n", conformance_to_json(report).dump(
                           2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    fmt::print(text_stream({junit}), "{}", format_conformance(report));
  const int code = exit_code(report);
  if (options.junit.empty()) return code;
  const Status written =
      write_junit_file(options.junit, "conformance", conformance_testcases(report));
  if (written.ok()) return code;
  fmt::print(stderr, "hybridscope conformance: {}\n", written.error().message);
  return kExitEnvironment;
}

}  // namespace hybridscope
