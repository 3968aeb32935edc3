// What both exported tests say of a run in Python, its first comment, its groups and its requests;
// and the one of them that tests the KV cache manager.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/export/exported_run.h"

namespace hybridscope {

// Untrusted text inside Python source code.

// A literal in double quotes. Control characters are escaped; bytes that are not UTF-8 become
// U+FFFD.
std::string python_string(std::string_view text);

// Text for the rest of a comment line: one line, control characters escaped.
std::string python_comment(std::string_view text);

// A function of every exported test: releases of vLLM differ in what their constructors take.
inline constexpr std::string_view kKnownArguments = R"py(

def known_arguments(function, **arguments):
    """Those that this version of the function takes."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}
)py";

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

// A test of vLLM's KV cache manager and of its scheduler's split that expects our engine's
// decisions: one Python file that needs vLLM and pytest, but no GPU.

// Uses the names of vLLM main at 61ab70ec3; arguments that a version does not know are left out.
// Error invalid_input: asynchronous scheduling, because the test would have to guess the counts
// that the manager receives.
Result<std::string> pytest_text(const ExportedRun& run);

}  // namespace hybridscope
