// Recomputes reference vectors and compares every field (`hybridscope conformance`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_kinds.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {

// A case whose answer differs from the reference's.
struct FailedCase {
  std::string id;
  std::int64_t line = 0;
  VectorDifference difference;
  std::string input;  // JSON text of the input: config, and the call, the step or the whole input
};

// A line that is not a valid vector or cannot be read, or a file without vectors (line 0).
struct InvalidCase {
  std::int64_t line = 0;
  std::string message;  // "FILE:LINE: POINTER: what was found and expected"
};

struct FileReport {
  std::string path;
  const VectorKind* kind = nullptr;  // null: not recognised
  // The kind that the fields of the first lines belong to, when it is not `kind`; else null.
  const VectorKind* fields_of = nullptr;
  std::int64_t cases = 0;  // compared, after the filter
  // After the filter, on a device: of a kind without a kernel, or a case that agrees without having
  // launched one. Neither compared nor passed.
  std::int64_t not_run = 0;
  std::int64_t passed = 0;
  std::vector<FailedCase> failed;  // in file order; only the first ones keep their texts
  std::vector<InvalidCase> invalid;
  std::optional<Error> kernel_error{};  // ended the check of the file
  double seconds = 0;
};

// The number of failed cases per file that keep their difference and input.
inline constexpr std::size_t kFailuresInFull = 20;

struct ConformanceOptions {
  std::string filter{};        // only cases whose id contains it; empty: all
  PolicyOverrides policies{};  // laid over those of the files' releases
  VectorKernels kernels{};
  std::size_t max_error_bytes = kMaxJsonBytes;  // of the kept errors of a file
  // Called after each line with the number of cases of this file so far.
  std::function<void(std::int64_t)> progress{};
  // Asked before each line; true: nothing more is read. Empty: never.
  std::function<bool()> stop{};
};

// The files of a folder that end in .jsonl or .jsonl.zst (regular files or links to them), sorted
// by name; for a file, the file itself, of any type. x.jsonl and x.jsonl.zst count as two files.
// Error: neither a file nor a folder, or a folder that cannot be read or has no such file.
Result<std::vector<std::string>> vector_files(const std::string& path);

// Reads line by line and unpacks a zstd file on the way. One bad line does not hide another, until
// the kept errors exceed options.max_error_bytes.
FileReport check_vector_file(const std::string& path, const ConformanceOptions& options);

// A vector without its answers, and the answers alone in the form that Recompute returns.
struct VectorParts {
  nlohmann::json asked;
  nlohmann::json answered;
};

// Throws JsonFault where the vector has no answer.
VectorParts split_vector(const VectorKind& kind, const nlohmann::json& vector);

// Recomputes one case and compares it. A broken contract of our own code is reported as a
// difference. Throws JsonFault and VectorKernelError.
struct VectorFile {
  std::optional<Release> release = {};  // in its name, for a kind that is recorded by release
  std::string folder = {};              // that it lies in, for weights
  PolicyOverrides policies = {};        // laid over those of the release
};
std::optional<VectorDifference> check_vector(const VectorKind& kind, const nlohmann::json& vector,
                                             const VectorKernels& kernels,
                                             const VectorFile& file = {});

// Reads a file line by line with a look-ahead; no line may be longer than kMaxJsonBytes. A zstd
// file is unpacked on the way.

// The most bytes of a file, unpacked: a small compressed file may hold any number of blank lines.
inline constexpr std::uint64_t kMaxVectorFileBytes = std::uint64_t{16} << 30;

struct NumberedLine {
  std::int64_t number = 0;  // from 1
  std::string text;         // without the newline
};

class LineReader {
 public:
  // Why a line could not be read.
  struct Fault {
    std::int64_t line = 0;
    Error error;  // does not name file and line
  };

  // Ends too when `stop` holds. Error io: the file cannot be opened
  // or is a directory.
  static Result<LineReader> open(const std::string& path, std::function<bool()> stop = {});

  // The next line that is not blank; empty at the end of the file or after a read error.
  std::optional<NumberedLine> next();

  // The next `count` lines that next() will return, without consuming them; fewer when together
  // they exceed kMaxJsonBytes, the limit of one line.
  const std::deque<NumberedLine>& peek(std::size_t count);

  // Set when reading ended before the end of the file: a disk error, a damaged zstd stream, or more
  // than kMaxVectorFileBytes.
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  explicit LineReader(ReadBytes read) : read_(std::move(read)) {}
  std::optional<NumberedLine> read();

  ReadBytes read_;
  std::string chunk_;  // data read but not yet split into lines, from used_ on
  std::size_t used_ = 0;
  std::int64_t number_ = 0;
  std::uint64_t num_bytes_ = 0;
  bool ended_ = false;  // set at the end, at a line that is too long, and at a read error
  std::optional<Fault> fault_;
  std::deque<NumberedLine> ahead_;
  std::size_t bytes_ahead_ = 0;
};

}  // namespace hybridscope
