// Options of `hybridscope diff`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cli_fwd.h"
#include "sessions/record/step_record.h"

namespace hybridscope {

struct DiffOptions {
  std::vector<std::string> sessions;  // FILE.db[:NAME], two; empty with --scenario
  std::string scenario;
  std::vector<std::string> engines;     // profiles of A and B
  std::vector<std::string> settings_a;  // KEY=VALUE
  std::vector<std::string> settings_b;
  std::vector<std::string> ignore;
  RecordLevel level = RecordLevel::full;  // of live runs
  std::int64_t limit = 100;               // steps, or requests, shown
  bool all = false;                       // show the fields of every step, not only of the first
  bool first = false;                     // stop at the first divergence
  bool requests = false;                  // compare by request, not by step
  bool json = false;
  std::string html;  // the page to write; "-": standard output, empty: none
};

void add_diff_options(CLI::App& command, DiffOptions& options);

}  // namespace hybridscope
