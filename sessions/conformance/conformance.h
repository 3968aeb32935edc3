// Recomputes reference vectors and compares every field (`hybridscope conformance`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/conformance/compare.h"
#include "sessions/conformance/vector_kinds.h"

namespace hybridscope {

// A case whose answer is not the reference's.
struct FailedCase {
  std::string id;
  std::int64_t line = 0;
  VectorDifference difference;
  std::string input;  // JSON text of what led there: the call or step, or the whole input
};

// A line that is no vector.
struct InvalidCase {
  std::int64_t line = 0;
  std::string message;  // "FILE:LINE: POINTER: what was found and expected"
};

struct FileReport {
  std::string path;
  const VectorKind* kind = nullptr;  // null: not recognised
  std::int64_t cases = 0;            // compared, after the filter
  std::int64_t passed = 0;
  std::vector<FailedCase> failed;    // all of them; the first in full
  std::vector<InvalidCase> invalid;  // also when the file cannot be read or recognised (line 0)
  double seconds = 0;
};

struct ConformanceOptions {
  std::string filter;  // only cases whose id contains it; empty: all
  ExecuteCopies execute_copies = nullptr;
};

// Files of a folder that end in .jsonl, by name; a file is itself. Error: neither exists, or the
// folder has none.
Result<std::vector<std::string>> vector_files(const std::string& path);

// Reads line by line; one bad line or file never hides another.
FileReport check_vector_file(const std::string& path, const ConformanceOptions& options);

}  // namespace hybridscope
