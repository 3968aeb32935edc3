// The faults that the cells of a matrix found, and each of them as a small scenario.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/run_cell.h"

namespace hybridscope {

// Scenarios of several cells that show one fault.
struct FaultCandidates {
  struct Place {
    MatrixCell cell;
    std::int64_t index = 0;
    FindingKind kind;
    std::int64_t num_requests = 0;
  };
  std::string key;            // fault_key
  std::string bugs;           // empty: nothing explains it
  std::vector<Place> places;  // at most kMaxFaultCandidates of different cells, fewest requests
};
inline constexpr std::size_t kMaxFaultCandidates = 4;

// Was each bug of "id+id" found alone too? Then a scenario that needs both is made of two
// accidents. `alone` answers for one id.
template <class FoundAlone>
bool is_accident(std::string_view bugs, const FoundAlone& alone) {
  if (bugs.find('+') == std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= bugs.size();) {
    const std::size_t end = std::min(bugs.find('+', begin), bugs.size());
    if (!alone(std::string(bugs.substr(begin, end - begin)))) return false;
    begin = end + 1;
  }
  return true;
}

// In the order of their keys, without accidents.
std::vector<FaultCandidates> collect_faults(const MatrixContents& contents);

struct ShrunkFault {
  MatrixFault fault;
  std::string scenario;  // text of fault.file
};

// The smallest that its candidates shrink to: under the policies of its bugs, or (without) as the
// cell ran it. Empty: go_on said so. Errors: none of a healthy program.
Result<std::optional<ShrunkFault>> shrink_fault(const FaultCandidates& candidates,
                                                const CellRunOptions& options);

}  // namespace hybridscope
