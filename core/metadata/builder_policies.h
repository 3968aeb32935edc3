// Policies of the metadata builders: what they are told of drafts, which rows they take as decodes
// and what their arrays hold.
// The values are in the order of the reference's releases. Part of the policies of
// core/engine/policies.h.
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"

namespace hybridscope {

// Which rows have a draft count, as the metadata builders are given it? (semantics:
// draft-and-accepted-counts)
enum class DraftMask : std::uint8_t {
  past_the_prompt,         // rows with drafts that are not prefilling
  of_drafts,               // 0.25.0: every row of its drafts and one token more
  of_drafts_with_context,  // 0.31.0: V2: not those whose request has no state yet
};

// V2: what is a row that takes one token of its prompt, drafts aside, and whose request has a
// state? (semantics: is-prefilling)
enum class OneTokenChunk : std::uint8_t {
  prefills,        // as is every row before the end of its prefill
  runs_as_decode,  // 0.31.0: builders are told so, and it fits a graph of uniform decodes
};

// What is the last token of a prompt that was padded with placeholder drafts to Mamba1 and Mamba2
// builders that class rows by is_prefilling? (known bug 8; semantics: mamba-short-extends)
enum class PaddedRowClass : std::uint8_t {
  prefill,              // its placeholders become part of the state
  decode_with_context,  // 0.30.0: a verify row, if its request has a state
};

// What do Mamba1 and Mamba2 builders do with decode rows under speculation if no accepted counts
// are given? (semantics: mamba-missing-counts)
enum class MissingCounts : std::uint8_t {
  refused,        // an assert of the reference; the engine gives counts of 1 instead
  absent,         // 0.24.0: the rows run without counts, from column 0
  query_lengths,  // 0.32.0: all their tokens count as accepted
};

// Does the Mamba1 builder take the accepted counts that it is given? (semantics:
// mamba-missing-counts)
enum class Mamba1Counts : std::uint8_t {
  taken,
  ignored,  // 0.24.0: its decode rows have one token
};

// Mode all: what do the arrays of Mamba1 and Mamba2 builders hold? (semantics: mamba-all-arrays)
enum class AllModeArrays : std::uint8_t {
  cut_to_tokens,   // graph: block columns for each decode token
  cut_to_rows,     // 0.24.0: for each row, tables K columns wider; Mamba1 has chunks of a block
  writes_counted,  // 0.31.0: and how many blocks prefills fill
};

// How does the GDN builder lay a batch out? (known bug 6; semantics: gdn-batch)
enum class GdnBatch : std::uint8_t {
  padded_to_tokens,          // graph: as many rows as tokens; decodes beside prefills run with them
  padded_to_rows,            // 0.24.0: as many rows as requests; such decodes run by themselves
  first_chunks_as_prefills,  // 0.31.0: of one token too; padding rows are not counted as prefills
};

// V2: does every group build its metadata? (semantics: several-groups)
enum class GroupBuilds : std::uint8_t {
  each_group,
  shared_by_equal_groups,  // 0.31.0: later groups of a spec exchange the state indices
};

struct BuilderPolicies {
  DraftMask draft_mask = DraftMask::past_the_prompt;
  OneTokenChunk one_token_chunk = OneTokenChunk::prefills;
  PaddedRowClass padded_row_class = PaddedRowClass::prefill;
  MissingCounts missing_counts = MissingCounts::refused;
  Mamba1Counts mamba1_counts = Mamba1Counts::taken;
  AllModeArrays all_mode_arrays = AllModeArrays::cut_to_tokens;
  GdnBatch gdn_batch = GdnBatch::padded_to_tokens;
  GroupBuilds group_builds = GroupBuilds::each_group;
  friend bool operator==(const BuilderPolicies&, const BuilderPolicies&) = default;
};

// Calls visit(PolicyRow) for each of them.
template <class Visit>
constexpr void for_each_builder_policy(Visit visit) {
  visit(PolicyRow(&BuilderPolicies::draft_mask,
                  {.name = "draft_mask",
                   .values = {"past_the_prompt", "of_drafts", "of_drafts_with_context"},
                   .help = "which rows the builders are told the drafts of"}));
  visit(PolicyRow(&BuilderPolicies::one_token_chunk,
                  {.name = "one_token_chunk",
                   .values = {"prefills", "runs_as_decode"},
                   .help = "runner v2: what one token of a prompt with a state is"}));
  visit(PolicyRow(&BuilderPolicies::padded_row_class,
                  {.name = "padded_row_class",
                   .values = {"prefill", "decode_with_context"},
                   .help = "Mamba builders: what a prompt's padded last token is"}));
  visit(PolicyRow(&BuilderPolicies::missing_counts,
                  {.name = "missing_counts",
                   .values = {"refused", "absent", "query_lengths"},
                   .help = "Mamba builders: decode rows without accepted counts"}));
  visit(PolicyRow(&BuilderPolicies::mamba1_counts,
                  {.name = "mamba1_counts",
                   .values = {"taken", "ignored"},
                   .help = "whether the Mamba1 builder takes accepted counts"}));
  visit(PolicyRow(&BuilderPolicies::all_mode_arrays,
                  {.name = "all_mode_arrays",
                   .values = {"cut_to_tokens", "cut_to_rows", "writes_counted"},
                   .help = "Mamba builders, mode all: what the arrays hold"}));
  visit(PolicyRow(&BuilderPolicies::gdn_batch,
                  {.name = "gdn_batch",
                   .values = {"padded_to_tokens", "padded_to_rows", "first_chunks_as_prefills"},
                   .help = "how the GDN builder lays a batch out"}));
  visit(PolicyRow(&BuilderPolicies::group_builds,
                  {.name = "group_builds",
                   .values = {"each_group", "shared_by_equal_groups"},
                   .help = "V2: whether groups of one spec share a build"}));
}

}  // namespace hybridscope
