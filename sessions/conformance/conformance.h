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
  std::string input;  // JSON text of what led there: config, and the call or step or whole input
};

// A line that is no vector or cannot be read, or a file that is no file of vectors (line 0).
struct InvalidCase {
  std::int64_t line = 0;
  std::string message;  // "FILE:LINE: POINTER: what was found and expected"
};

struct FileReport {
  std::string path;
  const VectorKind* kind = nullptr;  // null: not recognised
  // The kind whose fields the first lines have, where they are not those of `kind`; else null.
  const VectorKind* fields_of = nullptr;
  std::int64_t cases = 0;  // compared, after the filter
  std::int64_t passed = 0;
  std::vector<FailedCase> failed;  // in the order of the file; texts of the first ones only
  std::vector<InvalidCase> invalid;
  double seconds = 0;
};

// Failed cases of one file whose difference and input are kept.
inline constexpr std::size_t kFailuresInFull = 20;

struct ConformanceOptions {
  std::string filter{};  // only cases whose id contains it; empty: all
  ExecuteCopies execute_copies = nullptr;
  // Called after each line with the number of cases of this file so far.
  std::function<void(std::int64_t)> progress{};
};

// Regular files of a folder, or links to them, that end in .jsonl or .jsonl.zst, by name; a file is
// itself, of any type. x.jsonl and x.jsonl.zst are two files: which of them somebody meant is not
// guessed. Error: neither exists, the folder cannot be read or has no such file.
Result<std::vector<std::string>> vector_files(const std::string& path);

// Reads line by line, a zstd file as it is unpacked; one bad line never hides another, until what
// is wrong with the file takes more than kMaxJsonBytes.
FileReport check_vector_file(const std::string& path, const ConformanceOptions& options);

// Recomputes one case and compares it. A fault of our own is a difference that says so. Throws
// VectorError.
std::optional<VectorDifference> check_vector(const VectorKind& kind, const nlohmann::json& vector,
                                             ExecuteCopies execute_copies);

}  // namespace hybridscope
