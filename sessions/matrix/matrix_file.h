// The folder of a matrix (docs/ci.md): matrix.jsonl with one line per finished cell, appended
// at once so that an interrupted matrix can be continued, and one scenario file per fault.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/matrix_events.h"
#include "sessions/text/growing_file.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The options of a matrix: the first line of its file.
struct MatrixHeader {
  std::string engine = {};    // profile
  std::string policies = {};  // overrides of the profile: "name=value ..." (policies_text)
  std::uint64_t seed = 1;
  std::int64_t scenarios_per_cell = 0;
  bool in_bytes = false;     // some scenarios keep state in bytes too
  std::string filter = {};   // CellFilter::text
  std::string program = {};  // version and build
  std::string shard = {};    // "1/1"
  friend bool operator==(const MatrixHeader&, const MatrixHeader&) = default;
};

struct HeaderDifference {
  std::string_view what;
  std::string a;  // "none" for an empty value
  std::string b;
};

// The first difference that keeps results from belonging to one matrix. Which cells were selected
// (filter and shard) may differ.
std::optional<HeaderDifference> header_difference(const MatrixHeader& a, const MatrixHeader& b);

// A fault that the matrix found, with a small scenario that shows it.
struct MatrixFault {
  std::string cause = {};  // CellFault::cause; empty: nothing explains it
  FindingKind kind = {};
  std::string text = {};  // the finding in words
  std::string cell = {};  // the cell whose scenario was shrunk
  std::int64_t index = 0;
  std::int64_t num_requests = 0;  // of the shrunk scenario
  std::int64_t num_steps = 0;
  std::string file = {};     // relative to the folder: "faults/NAME.json"; empty: there is none
  std::string no_file = {};  // why there is none
  friend bool operator==(const MatrixFault&, const MatrixFault&) = default;
};

struct MatrixContents {
  MatrixHeader header;
  std::map<std::string, CellResult> cells;    // by name
  std::map<std::string, MatrixFault> faults;  // by key (fault_key)
};

// Identifies a fault: its bugs, or else its kind of finding.
std::string fault_key(const MatrixFault& fault);

// Errors: not_found, there is no such folder; corrupt, with file, line and what was expected. An
// unfinished last line (without newline) is ignored.
Result<MatrixContents> read_matrix(const std::string& folder);

// The file of results in the folder.
std::string matrix_file(const std::string& folder);

class MatrixFile {
 public:
  // Creates the folder, or continues with what is in it. The folder is locked while this object
  // lives. Errors: those of read_matrix; invalid_input when it holds another matrix (the message
  // names the difference); not_available when it cannot be written or another hybridscope writes
  // it.
  static Result<MatrixFile> open(const std::string& folder, const MatrixHeader& header);

  // The data is in the file when the call returns. Error not_available: the disk is full. What was
  // added before is kept for the next run, and nothing more can be added; without any result the
  // folder goes too if this object made it.
  Status add(const CellResult& cell);
  // Adds the cells that the file lacks. Errors: those of add(); invalid_input, the file has
  // different ones, or faults of fewer.
  Status add_cells(const MatrixContents& merged);
  // `scenario`: the content of fault.file, if it has one.
  Status add(const MatrixFault& fault, const std::string& scenario);

  const MatrixContents& contents() const { return contents_; }
  const std::string& folder() const { return folder_; }

 private:
  MatrixFile(std::string folder, MatrixContents contents, LineFile file);
  // `its_file`: removed if the line cannot be written; empty: none.
  Status append(const std::string& line, const std::string& its_file = {});
  void remove_without_results(const std::string& unused_file = {}) const;

  std::string folder_;
  MatrixContents contents_;
  LineFile file_;
  std::vector<std::string> made_;  // folders and files, each after the folder that it is in
  std::optional<Error> failure_;   // a scenario's file could not be written
};

// The lines of matrix.jsonl and their values.

nlohmann::ordered_json header_to_json(const MatrixHeader& header);
nlohmann::ordered_json cell_to_json(const CellResult& cell);
nlohmann::ordered_json fault_to_json(const MatrixFault& fault);

// A JsonFault says what is wrong.
MatrixHeader header_of_json(const JsonValue& place);
CellResult cell_of_json(const JsonValue& place);
MatrixFault fault_of_json(const JsonValue& place);

}  // namespace hybridscope
