// What a verdict on a trace needs and the trace does not tell (docs/trace-format.md, "What a
// verdict needs").
#pragma once

#include <cstdint>
#include <string>

#include "core/trace/step_trace.h"
#include "sessions/judge/foreign_importer.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

class UntoldParts {
 public:
  explicit UntoldParts(const ForeignHeader& header);

  // Takes a step that `importer` has just turned into `trace`.
  void take(const ForeignStep& step, const StepTrace& trace, const ForeignImporter& importer);

  // From the last step on findings may be false: what was not told decides over them.
  bool hide_findings() const { return !hiding_.empty(); }
  // What is not told, in words: what hides findings, else the first thing without which there may
  // be faults that nothing in the trace shows. Empty: all that a verdict needs was told.
  std::string words() const;

 private:
  void hide(std::int64_t step, const std::string& what);
  void doubt(std::int64_t step, const std::string& what);
  void look_at_hashes(const ForeignStep& step, const StepTrace& trace,
                      const ForeignImporter& importer);
  void look_at_told_hash(const ForeignStep& step, const ForeignHash& hash,
                         const ForeignImporter& importer);
  void look_at_counted_hashes(const ForeignStep& step);
  void look_at_lost_hashes(const ForeignStep& step, const ForeignImporter& importer);
  void look_at_block_copies(const ForeignStep& step, const StepTrace& trace,
                            const BlockTableMirror& tables);
  void look_at_checkpoints(const ForeignStep& step, const StepTrace& trace,
                           const ForeignImporter& importer);
  void look_at_rows(const ForeignStep& step, const StepTrace& trace);
  void look_at_computed(const ForeignStep& step, const ForeignImporter& importer);

  ForeignHeader header_;
  std::string hiding_;
  std::string doubt_;
  bool tells_registrations_ = false;        // some line does
  bool tells_hashes_after_output_ = false;  // some line does
  bool tells_losses_ = false;               // some line does, in either member
  std::int64_t full_block_at_ = 0;          // the step in which a block was full first; 0: none
  std::int64_t num_computed_copies_ = 0;    // of the steps before
  std::int64_t num_computed_cudagraphs_ = 0;
};

}  // namespace hybridscope
