// What both exported tests say of a run in Python: its first comment, its groups and its requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/export/exported_run.h"

namespace hybridscope {

std::string_view python_bool(bool value);
// ["A", "B"]
std::string python_names(const std::vector<std::string>& names);
// [[1, 2], []]
std::string python_lists(const std::vector<std::vector<std::int32_t>>& lists);
// None for 0: the layers store no state inside a prefill.
std::string python_alignment(std::int32_t prefill_checkpoint_alignment);

struct PythonHeading {
  std::string_view about;          // whole comment lines
  PartTest test = PartTest::none;  // which test the file is
  bool runner_test = false;        // can the run be exported as a runner test?
};

// Comment lines: the scenario with its profile, `about`, on which vLLM the test is to pass or to
// fail, and which findings of the run have a cause in a part that the test does not run.
std::string python_heading(const ExportedRun& run, const PythonHeading& heading);

// GROUPS = [...], one dictionary a KV-cache group.
std::string python_groups(const ExportedRun& run);
// REQUESTS = {...}: tokens, lengths and salt of each request that ran.
std::string python_requests(const ExportedRun& run);

}  // namespace hybridscope
