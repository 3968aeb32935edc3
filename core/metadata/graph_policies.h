// Policies of CUDA graphs: which sizes are captured, and which graph a batch takes.
// The values are in the order of the reference's releases. Part of the policies of
// core/engine/policies.h.
#pragma once

#include <cstdint>

#include "core/base/policy_row.h"

namespace hybridscope {

// Which sizes does the default list hold besides round numbers of tokens? (semantics:
// capture-sizes)
enum class CaptureList : std::uint8_t {
  round_token_counts,
  decode_batches_too,  // 0.29.0: with drafts, K + 1 times each round number of rows
  full_batch_too,      // 0.31.0: without drafts, max_num_seqs
};

// V2: for which sizes are graphs of uniform decodes captured, and in which order does a batch look
// at the graphs? (semantics: cudagraph-dispatch-v2)
enum class DecodeGraphs : std::uint8_t {
  rounded_list,          // the whole list is rounded to K + 1; the smallest size is taken
  each_size_rounded,     // 0.25.0: other batches keep the list as it is; the smallest of all sizes
  full_before_piecewise  // 0.29.0: the smallest full graph, then the smallest piecewise one
};

struct GraphPolicies {
  CaptureList capture_list = CaptureList::round_token_counts;
  DecodeGraphs decode_graphs = DecodeGraphs::rounded_list;
  friend bool operator==(const GraphPolicies&, const GraphPolicies&) = default;
};

// Calls visit(PolicyRow) for each of them.
template <class Visit>
constexpr void for_each_graph_policy(Visit visit) {
  visit(PolicyRow(&GraphPolicies::capture_list,
                  {.name = "capture_list",
                   .values = {"round_token_counts", "decode_batches_too", "full_batch_too"},
                   .help = "which sizes CUDA graphs are captured for by default"}));
  visit(PolicyRow(&GraphPolicies::decode_graphs,
                  {.name = "decode_graphs",
                   .values = {"rounded_list", "each_size_rounded", "full_before_piecewise"},
                   .help = "V2: the graphs of uniform decodes, and the order of the search"}));
}

}  // namespace hybridscope
