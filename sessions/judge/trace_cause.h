// Which known bug the findings of another engine's trace come from: the one with which our engine
// decides as the trace does, while without it there is a difference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sessions/explain/finding_roots.h"
#include "sessions/judge/foreign_trace.h"
#include "sessions/scenario/known_bug_table.h"

namespace hybridscope {

// Stands in core/engine/batch_metadata_policies.h, which few units shall depend on.
enum class CheckpointWrites : std::uint8_t;

// The lines of a trace, to go through them again. None are kept of a trace that is longer.
class KeptTrace {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  void begin(std::string_view header_line);
  void add(std::string_view line);
  // The lines that were kept, the header first; empty: none was.
  std::span<const std::string> lines() const { return lines_; }
  bool is_too_long() const { return too_long_; }

 private:
  std::vector<std::string> lines_;
  std::size_t num_bytes_ = 0;
  bool too_long_ = false;
};

// The release that a trace names as its engine ("vllm 0.31.0"); profile safe if it names none or
// nothing was kept.
EngineProfile profile_of(const KeptTrace& trace);

class TraceCauses {
 public:
  // Rows of the trace that may be compared in all; about a second of work.
  static constexpr std::int64_t kMostRows = 400'000;

  // [roots] the bugs of one cause, all of the same number of policies; none: it is not known, or
  // the search would take longer. Two engines are tried as the one without faults:
  // - profile safe, and with one known bug: the bug is the cause if our engine with it decides as
  //   the trace does beyond the root's step, and without it does not up to the chain's last step;
  //   of several the one that agrees longest;
  // - the release that the trace names as its engine ("vllm 0.31.0"), and without one of its bugs:
  //   the bug is the cause if only without it there is a difference up to the root's step; of
  //   several the one whose difference comes last.
  // States inside prefills that the trace does not tell are those of the release: then the bug is
  // the cause without whose states the finding is gone.
  std::vector<std::vector<const KnownBug*>> find(const KeptTrace& trace,
                                                 std::span<const FindingRoot> roots);
  // Why the last find() did not look for the causes, or not to the end; empty: it did.
  const std::string& why_not_searched() const { return why_not_searched_; }

 private:
  static constexpr std::int64_t kNowhere = INT64_MAX;
  struct Candidate {
    const KnownBug* bug = nullptr;
    std::int64_t differs_at = kNowhere;  // step
  };
  void search(const KeptTrace& trace, const ForeignHeader& header,
              std::span<const FindingRoot> roots, std::span<std::vector<const KnownBug*>> causes);
  // The bugs behind a finding that follows from states inside prefills that were computed from the
  // release.
  std::vector<const KnownBug*> of_computed_states(const KeptTrace& trace,
                                                  const ForeignHeader& header,
                                                  const Finding& finding);
  // Is it found too where prefills store such states by this rule?
  bool is_found(const KeptTrace& trace, CheckpointWrites writes, const Finding& finding);
  // The first step, up to `last`, in which our engine with these policies decides otherwise, or
  // kNowhere. Empty: it cannot be compared, or too many rows were.
  std::optional<std::int64_t> first_difference(const KeptTrace& trace, const PolicySet& policies,
                                               std::int64_t last);
  // The bugs of the candidates that agree with the trace beyond `step`, and longest; of those that
  // differ up to `step`, and last.
  static std::vector<const KnownBug*> differing_at(std::span<const Candidate> candidates,
                                                   std::int64_t step);
  static std::vector<const KnownBug*> longest_agreeing(std::span<const Candidate> candidates,
                                                       std::int64_t step);
  static std::vector<const KnownBug*> last_differing(std::span<const Candidate> candidates,
                                                     std::int64_t step);
  std::vector<Candidate> with_each_bug(const KeptTrace& trace, std::int64_t last);
  std::vector<Candidate> without_each_bug(const KeptTrace& trace, const EngineProfile& release,
                                          std::int64_t last);

  std::int64_t left_ = kMostRows;
  ModelRunner runner_ = ModelRunner::v1;  // of the trace
  std::string why_not_searched_;
};

}  // namespace hybridscope
