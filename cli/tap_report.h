// Scenarios and traces in the Test Anything Protocol, version 14: a test point each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/junit_file.h"
#include "core/base/result.h"

namespace hybridscope {

// A suite is "not ok" when one of its testcases failed, with a block that says which and why; "ok"
// with "# SKIP" when it was not tried.
std::string tap_text(std::span<const JunitSuite> suites);

// The names behind "not ok" in a report that tap_text() made. Error: the file cannot be read
// (not_found) or is not such a report (invalid_input).
Result<std::vector<std::string>> failed_in_tap(const std::string& path);

}  // namespace hybridscope
