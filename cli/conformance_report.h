// What a conformance run leaves behind, as text, JSON and JUnit testcases.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/junit_file.h"
#include "sessions/conformance/conformance.h"

namespace hybridscope {

struct ConformanceReport {
  std::vector<std::string> paths;  // as given
  std::string filter;
  bool timings = true;
  std::vector<FileReport> files;

  std::int64_t cases() const;
  std::int64_t passed() const;
  std::int64_t invalid() const;  // lines that are no vectors and files that cannot be read
};

// What is wrong with the name of a file of which something is; "" when nothing is.
std::string name_hint(const FileReport& file);

// A table with a row a file, the first difference of each file in full, and what it adds up to.
std::string format_conformance(const ConformanceReport& report);

// {config, summary, files}.
nlohmann::ordered_json conformance_to_json(const ConformanceReport& report);

// One testcase a file; its failures are its first differences and all that is invalid.
std::vector<JunitCase> conformance_testcases(const ConformanceReport& report);

}  // namespace hybridscope
