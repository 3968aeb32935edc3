// The folder of a matrix: matrix.jsonl, a line a finished cell, written as they come so that an
// interrupted matrix goes on where it was; and a scenario file a fault (docs/matrix.md).
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "sessions/matrix/cell_result.h"
#include "sessions/matrix/matrix_header.h"

namespace hybridscope {

// A fault that the matrix found, as a small scenario.
struct MatrixFault {
  std::string bugs = {};  // CellFault::bugs; empty: nothing explains it
  FindingKind kind = {};
  std::string text = {};  // the finding in words
  std::string cell = {};  // whose scenario it was
  std::int64_t index = 0;
  std::int64_t num_requests = 0;  // of the shrunk scenario
  std::int64_t num_steps = 0;
  std::string file = {};  // within the folder: "faults/NAME.json"
  friend bool operator==(const MatrixFault&, const MatrixFault&) = default;
};

struct MatrixContents {
  MatrixHeader header;
  std::map<std::string, CellResult> cells;    // by name
  std::map<std::string, MatrixFault> faults;  // by key (fault_key)
};

// What two faults that are the same one have in common: the bugs, else the kind of finding.
std::string fault_key(const MatrixFault& fault);

// Errors: not_found without such a folder; corrupt with file, line and what was expected. A last
// line without its newline is one that was not finished: left out.
Result<MatrixContents> read_matrix(const std::string& folder);

class MatrixFile {
 public:
  // Makes the folder, or goes on with what is in it, which nobody else can do until the file is
  // gone. Errors: those of read_matrix; invalid_input when it has another matrix (the difference is
  // told); not_available: cannot be written, or another hybridscope writes it.
  static Result<MatrixFile> open(const std::string& folder, const MatrixHeader& header);

  // Each is in the file when the call returns. Error not_available: the disk is full.
  Status add(const CellResult& cell);
  // `scenario`: the text of fault.file.
  Status add(const MatrixFault& fault, const std::string& scenario);

  const MatrixContents& contents() const { return contents_; }
  const std::string& folder() const { return folder_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using LockedFile = std::unique_ptr<std::FILE, Close>;

  MatrixFile(std::string folder, MatrixContents contents, LockedFile file);
  static Result<LockedFile> lock(const std::string& folder);
  Status append(const std::string& line) const;

  std::string folder_;
  MatrixContents contents_;
  LockedFile file_;
};

}  // namespace hybridscope
