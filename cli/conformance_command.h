// `hybridscope conformance`: recomputes reference vectors and compares every field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/common_options.h"
#include "cli/test_reports.h"
#include "sessions/conformance/conformance.h"
#include "sessions/job/backends.h"
#include "sessions/job/state_option.h"

namespace hybridscope {

// The result of a conformance run, as text, JSON and JUnit testcases.

struct ConformanceReport {
  std::vector<std::string> paths;  // as given
  std::string filter;
  bool timings = true;
  StateBackendKind backend = StateBackendKind::cpu;
  std::string device;  // what it is called; empty: this machine
  std::vector<FileReport> files;
  bool interrupted = false;  // not everything was checked

  std::int64_t sum(std::int64_t (*number)(const FileReport&)) const;
  std::int64_t cases() const {
    return sum([](const FileReport& file) { return file.cases; });
  }
  std::int64_t passed() const {
    return sum([](const FileReport& file) { return file.passed; });
  }
  std::int64_t not_run() const {
    return sum([](const FileReport& file) { return file.not_run; });
  }
  // Lines that are not vectors and files that cannot be read.
  std::int64_t invalid() const {
    return sum([](const FileReport& file) { return std::ssize(file.invalid); });
  }
  bool device_failed() const;  // while the last file was checked
};

// A table with one row per file, the first difference of each file in full, and the totals; on a
// device also how many cases were not run there.
std::string format_conformance(const ConformanceReport& report);

// {config, summary, files}.
nlohmann::ordered_json conformance_to_json(const ConformanceReport& report);

// One testcase per file; its failures are its first differences and all invalid lines.
std::vector<JunitCase> conformance_testcases(const ConformanceReport& report);

struct ConformanceCommandOptions {
  std::vector<std::string> paths;     // files or folders
  std::string filter;                 // only cases whose id contains it
  std::vector<std::string> policies;  // "NAME=VALUE", laid over those of the files' releases
  bool json = false;
  bool timings = true;
  StateOption state;  // its backend and device
  std::string junit;  // file to write, empty: none
};

void add_conformance_options(CLI::App& command, ConformanceCommandOptions& options);

// Returns the exit code: 4 without the device, else 3 for any line that is not a vector, else 1 for
// any difference, 2 when no case was selected or run.
int conformance_command(const ConformanceCommandOptions& options, const Backends& backends);

}  // namespace hybridscope
