// A JUnit report: one testsuite of named testcases, as continuous integration reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct JunitCase {
  std::string name;
  std::string type{};                   // of the failure
  std::vector<std::string> failures{};  // empty: passed
};

// Each testcase has the suite's name as its class. A regular file is written beside the target and
// renamed, anything else (a pipe, a device) is written to. Error io: the file cannot be written.
Status write_junit_file(const std::string& path, std::string_view suite,
                        const std::vector<JunitCase>& cases);

}  // namespace hybridscope
