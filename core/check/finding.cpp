#include "core/check/finding.h"

#include <array>

#include "core/base/result.h"

namespace hybridscope {
namespace {

constexpr std::array kRules = {
    RuleInfo{Rule::running_state_wrong, "running-state-wrong", Severity::error, "I1 I2 I9",
             "a row starts from a state or conv history that does not match its computed tokens"},
    RuleInfo{Rule::label_mismatch, "label-mismatch", Severity::error, "I3",
             "a registered block does not hold the prefix that its hash identifies"},
    RuleInfo{
        Rule::read_of_unwritten_block, "read-of-unwritten-block", Severity::error, "I4",
        "a row reads a block that was not written since its allocation, or that no request holds"},
    RuleInfo{Rule::foreign_write, "foreign-write", Severity::error, "I5 I6",
             "a write goes through the null block or into a block the request does not own"},
    RuleInfo{Rule::reference_count, "reference-count", Severity::error, "",
             "a block's reference count is not the number of block tables that hold it"},
    RuleInfo{Rule::copy_out_of_range, "copy-out-of-range", Severity::error, "I5",
             "a copy leaves its block: the shift is longer than the conv window"},
    RuleInfo{Rule::conflicting_copies, "conflicting-copies", Severity::error, "I13",
             "two copies of one launch touch the same block and one of them writes it"},
    RuleInfo{Rule::padded_row_not_null, "padded-row-not-null", Severity::error, "I6",
             "a padding row has tokens, a length or a block that is not the null block"},
    RuleInfo{Rule::stale_persistent_array, "stale-persistent-array", Severity::error, "I10",
             "a graph replay reads a persistent array that this step did not refresh"},
    RuleInfo{Rule::metadata_inconsistent, "metadata-inconsistent", Severity::error, "",
             "shapes, sums or orders of a step's arrays, or a copy and its decision, contradict "
             "each other"},
    RuleInfo{Rule::hit_longer_than_group, "hit-longer-than-group", Severity::error, "I8",
             "a prefix hit is longer than what one of the groups holds"},
    RuleInfo{Rule::foreign_row_datum, "foreign-row-datum", Severity::error, "I7",
             "a row's value, gate or count was taken from another request's row"},
    RuleInfo{Rule::rejected_draft_counted, "rejected-draft-counted", Severity::error, "I12",
             "the computed tokens after the step are not the accepted tokens"},
    RuleInfo{Rule::attention_slot_unwritten, "attention-slot-unwritten", Severity::error, "I4 I8",
             "attention reads a slot that holds no keys and values of this prefix"},
    RuleInfo{
        Rule::block_table_mismatch, "block-table-mismatch", Severity::error, "I14",
        "in a live column the worker's block table has a different block than the scheduler's"},
    RuleInfo{Rule::no_progress, "no-progress", Severity::error, "I11",
             "requests wait, nothing was scheduled and nothing can change that"},
    RuleInfo{Rule::state_bytes_wrong, "state-bytes-wrong", Severity::error, "",
             "an element of a state in memory is not what the writes to its block left there",
             Evidence::bytes},
    RuleInfo{
        Rule::schedule_over_limit, "schedule-over-limit", Severity::error, "",
        "a step has more tokens than its budget, more requests than max_num_seqs, or a request "
        "beyond max_model_len"},
    RuleInfo{Rule::graph_not_captured, "graph-not-captured", Severity::error, "",
             "a step replays a graph whose size or rows were never captured"},
    RuleInfo{Rule::published_not_written, "published-not-written", Severity::error, "I3",
             "a block was registered for a state inside a prefill that the step did not store"},
    RuleInfo{Rule::state_changed, "state-changed", Severity::error, "",
             "a state in the engine's memory is not what its last write left, although nothing "
             "wrote there since",
             Evidence::memory},
    RuleInfo{Rule::copy_differs, "copy-differs", Severity::error, "",
             "after a copy the engine's memory does not hold the bytes of the source",
             Evidence::memory},
    RuleInfo{Rule::write_missing, "write-missing", Severity::error, "",
             "the forward pass moved a conv window, and left the state of its block as it was",
             Evidence::memory},
    RuleInfo{Rule::state_differs, "state-differs", Severity::error, "",
             "a recurrent state is not, bit for bit, the one that a lone run of its request has "
             "after as many tokens",
             Evidence::numbers},
    RuleInfo{Rule::logits_differ, "logits-differ", Severity::error, "",
             "a row's logits are not those of a lone run with the same tokens", Evidence::numbers},
    RuleInfo{Rule::acceptance_differs, "acceptance-differs", Severity::error, "",
             "the model's logits accept another number of tokens than the engine counted",
             Evidence::numbers},
    RuleInfo{Rule::chunk_off_grid, "chunk-off-grid", Severity::warning, "I3",
             "a prefill chunk that does not finish its request ended off the block grid"},
    RuleInfo{Rule::state_unchanged, "state-unchanged", Severity::warning, "",
             "the forward pass left a state as it was, although it should stand for other tokens "
             "now; right only where a token repeats itself",
             Evidence::memory},
    RuleInfo{Rule::drafts_cut, "drafts-cut", Severity::warning, "",
             "draft tokens of a request were cut by budget or length"},
    RuleInfo{Rule::expectation_unused, "expectation-unused", Severity::warning, "",
             "a scripted value could not be used as written"},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i)
    if (static_cast<std::size_t>(kRules[i].rule) != i) return false;
  return true;
}
static_assert(rows_are_in_order());
static_assert(kRules.size() == static_cast<std::size_t>(Rule::expectation_unused) + 1);

}  // namespace

std::span<const RuleInfo> rule_table() { return kRules; }

const RuleInfo& rule_info(Rule rule) {
  HS_EXPECT(static_cast<std::size_t>(rule) < kRules.size());
  return kRules[static_cast<std::size_t>(rule)];
}

}  // namespace hybridscope
