// The policy of mode all with drafts, which both runners and their metadata obey.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Mode all with drafts: where the input columns start, and whether boundary states are stored.
// (known bugs 18, 19; semantics: mode-all-with-drafts)
enum class AllModeSpeculation : std::uint8_t {
  remembered_column_and_boundary_copies,
  full_steps_remembered_no_copies,  // reference
  computed_column_no_copies,        // before May 2026: nothing remembered (known bug 41)
};
template <>
struct PolicyOf<AllModeSpeculation>
    : PolicyAt<AllModeSpeculation::remembered_column_and_boundary_copies, 22> {};

}  // namespace hybridscope
