// Eight-byte digests of a step's decisions, one per section: equal digests mean equal decisions.
// They use request names and do not depend on the order of rows, so two recordings can be compared
// although they number rows and ids differently.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/check/finding.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

enum class StepSection : std::uint8_t {
  commands,  // commands and their outcome
  schedule,  // token counts, admissions, preemptions, lookups, budget
  blocks,    // block ids: cache events and copies
  rows,      // class and counts of each row
  layout,    // places of rows: row, slot, origin
  graph,     // graph dispatch and padding
  copies,    // copy decisions with every term
  metadata,  // metadata arrays
  commits,   // results of the frame that returned
  findings,
};
inline constexpr std::size_t kNumStepSections = 10;

std::string_view step_section_name(StepSection section);  // "commands", ...

// The version of the digests: digests of different versions cannot be compared.
inline constexpr std::int32_t kDigestVersion = 2;

struct StepDigests {
  std::array<std::uint64_t, kNumStepSections> of{};
  std::uint64_t& operator[](StepSection section) { return of[static_cast<std::size_t>(section)]; }
  std::uint64_t operator[](StepSection section) const {
    return of[static_cast<std::size_t>(section)];
  }
  friend bool operator==(const StepDigests&, const StepDigests&) = default;
};

// Makes the digests of steps. `name` names requests; each name is asked for once.
class StepDigester {
 public:
  explicit StepDigester(std::function<std::string(RequestId)> name);

  StepDigests digest(const StepTrace& trace, std::span<const Finding> findings);

 private:
  std::uint64_t hash_of(RequestId request);
  template <class T>
  std::uint64_t hash_value(const T& value);
  class Hasher;

  void digest_schedule(const StepTrace& trace, StepDigests& digests);
  void digest_rows(const StepTrace& trace, StepDigests& digests);
  void digest_blocks(const StepTrace& trace, StepDigests& digests);
  void digest_copies(const StepTrace& trace, StepDigests& digests);
  void digest_metadata(const StepTrace& trace, StepDigests& digests);
  void digest_outcome(const StepTrace& trace, std::span<const Finding> findings,
                      StepDigests& digests);

  std::function<std::string(RequestId)> name_;
  std::vector<std::uint64_t> hashes_;  // by request id; 0: not asked for yet
};

}  // namespace hybridscope
