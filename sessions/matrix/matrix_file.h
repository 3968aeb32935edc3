// The folder of a matrix: matrix.jsonl, a line a finished cell, written as they come so that an
// interrupted matrix goes on where it was; and a scenario file a fault (docs/matrix.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/cell_result.h"

namespace hybridscope {

// What results have to have in common to be one matrix.
struct MatrixHeader {
  std::string engine = {};    // profile
  std::string policies = {};  // "name=value ...", against the profile
  std::uint64_t seed = 1;
  std::int64_t scenarios_per_cell = 0;
  bool in_bytes = false;     // some scenarios keep state in bytes too
  std::string filter = {};   // CellFilter::text()
  std::string program = {};  // version
  std::string shard = {};    // "1/1"
  friend bool operator==(const MatrixHeader&, const MatrixHeader&) = default;
};

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
  // Makes the folder, or goes on with what is in it. Errors: those of read_matrix; invalid_input
  // when it has another matrix (the difference is told); not_available: cannot be written.
  static Result<MatrixFile> open(const std::string& folder, const MatrixHeader& header);

  // Each is in the file when the call returns. Error not_available: the disk is full.
  Status add(const CellResult& cell);
  // `scenario`: the text of fault.file.
  Status add(const MatrixFault& fault, const std::string& scenario);

  const MatrixContents& contents() const { return contents_; }
  const std::string& folder() const { return folder_; }

 private:
  MatrixFile(std::string folder, MatrixContents contents);
  Status append(const std::string& line) const;

  std::string folder_;
  MatrixContents contents_;
};

// Results of shards, or of runs with other filters, as one: header of the first with shard 1/1.
// Errors: those of read_matrix; invalid_input when two do not belong together, or say different
// things of one cell.
struct MatrixSource {
  std::string folder;
  MatrixContents contents;
};
Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources);

}  // namespace hybridscope
