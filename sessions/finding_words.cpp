#include "sessions/finding_words.h"

#include <fmt/format.h>

namespace hybridscope::finding_words {
namespace {

std::string block_words(std::int32_t block) {
  return block == kNullBlock   ? "the null block"
         : block == kPadSlotId ? "the pad id"
                               : fmt::format("block {}", block);
}

// "46 tokens", "1 token".
std::string tokens(std::int64_t count) {
  return fmt::format("{} token{}", count, count == 1 ? "" : "s");
}

// "46 tokens of A": what the last writer put there.
std::string written_tokens(const Finding& f, const Names& names) {
  return f.cause.request.value >= 0 ? tokens(f.seen) + " of " + names.request(f.cause.request)
                                    : tokens(f.seen);
}

std::string running_state_wrong(const Finding& f, const Names& names) {
  if (f.block < 0)
    return fmt::format("the row starts from {}, expected {}: {}", tokens(f.seen),
                       tokens(f.expected), f.detail);
  if (f.content == ContentKind::conv)
    return fmt::format(
        "the conv window read from {} is not that of the last tokens before token {}; its last "
        "write ended at {}",
        block_words(f.block), f.expected + 1, written_tokens(f, names));
  if (f.seen == f.expected)
    return fmt::format("{} holds the state of {}, as many as expected but not the same ones",
                       block_words(f.block), written_tokens(f, names));
  return fmt::format("{} holds the state of {}, expected {}", block_words(f.block),
                     written_tokens(f, names), f.expected);
}

std::string label_mismatch(const Finding& f, const Names& names) {
  const std::string label = fmt::format("{} is registered as the end of a prefix of {}",
                                        block_words(f.block), tokens(f.expected));
  if (f.content == ContentKind::conv)
    return label + ", but its conv window, last written up to " + written_tokens(f, names) +
           ", is not that prefix's";
  if (f.content == ContentKind::attention && !f.detail.empty())
    return label + ", but keys and values are there only up to " + written_tokens(f, names);
  if (f.seen == f.expected) return label + ", but holds another one of " + written_tokens(f, names);
  return label + ", but holds " + written_tokens(f, names);
}

std::string unwritten(const Finding& f) {
  std::string text = f.detail.starts_with("read ") ? std::string(f.detail)
                     : f.detail.starts_with("never")
                         ? fmt::format("{} is read but was {}", block_words(f.block), f.detail)
                         : fmt::format("{}: {}", block_words(f.block), f.detail);
  if (f.expected >= 0) text += fmt::format("; expected the state of {}", tokens(f.expected));
  return text;
}

std::string reference_count(const Finding& f) {
  if (f.block < 0) return fmt::format("{} {}", f.seen, f.detail);
  return fmt::format("{} has reference count {}, but block tables hold it {} times",
                     block_words(f.block), f.seen, f.expected);
}

std::string padded_row(const Finding& f) {
  if (f.block >= 0)
    return fmt::format("a padding row names {} where the null block belongs", block_words(f.block));
  return fmt::format("a padding row has {} {}, expected {}", f.detail, f.seen, f.expected);
}

std::string foreign_row_datum(const Finding& f, const Names& names) {
  if (f.detail == "accepted count taken from another request")
    return fmt::format("the accepted count was taken from {}",
                       f.seen >= 0 ? names.request({static_cast<std::int32_t>(f.seen)})
                                   : std::string("no request"));
  if (f.detail == "accepted count outside 1..1+K")
    return fmt::format("the accepted count is {}, expected 1..{}", f.seen, f.expected);
  if (f.detail == "accepted count of another row")
    return fmt::format("the accepted count is {}, the request's is {}", f.seen, f.expected);
  return fmt::format("{} names token {} where token {} of the batch belongs", f.detail, f.seen,
                     f.expected);
}

std::string attention_slots(const Finding& f) {
  if (f.detail.starts_with("slots before"))
    return fmt::format("{} is filled up to slot {}, but the row writes from slot {} on",
                       block_words(f.block), f.seen, f.expected);
  return fmt::format("{} has keys and values up to token {}, expected up to {}: {}",
                     block_words(f.block), f.seen, f.expected, f.detail);
}

std::string no_progress(const Finding& f) {
  if (f.expected > 0)
    return fmt::format("{} unfinished request{}, nothing was scheduled and nothing is to come",
                       f.expected, f.expected == 1 ? "" : "s");
  return fmt::format("{} were computed since any request got further", tokens(f.seen));
}

}  // namespace

std::string what(const Finding& f, const Names& names) {
  switch (f.rule) {
    case Rule::running_state_wrong:
      return running_state_wrong(f, names);
    case Rule::label_mismatch:
      return label_mismatch(f, names);
    case Rule::read_of_unwritten_block:
      return unwritten(f);
    case Rule::foreign_write:
      return f.block > 0 ? fmt::format("write into {}: {}", block_words(f.block), f.detail)
                         : std::string(f.detail);
    case Rule::reference_count:
      return reference_count(f);
    case Rule::copy_out_of_range:
      return fmt::format("the copy to {} shifts the conv window by {}, at most {} is possible",
                         block_words(f.block), f.seen, f.expected);
    case Rule::conflicting_copies:
      return fmt::format("{}: {} in the same launch", block_words(f.block), f.detail);
    case Rule::padded_row_not_null:
      return padded_row(f);
    case Rule::stale_persistent_array:
      return std::string(f.detail);
    case Rule::metadata_inconsistent:
      return fmt::format("{}: {}, expected {}", f.detail, f.seen, f.expected);
    case Rule::hit_longer_than_group:
      return fmt::format(
          "the hit needs keys and values up to token {}, they are there up to {}: {}", f.expected,
          f.seen, f.detail);
    case Rule::foreign_row_datum:
      return foreign_row_datum(f, names);
    case Rule::rejected_draft_counted:
      return fmt::format("{} are {}, expected {}", f.detail, f.seen, f.expected);
    case Rule::attention_slot_unwritten:
      return attention_slots(f);
    case Rule::block_table_mismatch:
      return fmt::format("the worker's block table has {}, the scheduler's {}",
                         block_words(static_cast<std::int32_t>(f.seen)),
                         block_words(static_cast<std::int32_t>(f.expected)));
    case Rule::no_progress:
      return no_progress(f);
    case Rule::chunk_off_grid:
      return fmt::format("the chunk ends at token {}, off the block grid (last boundary: {})",
                         f.seen, f.expected);
    case Rule::drafts_cut:
      return fmt::format("{} of {} draft tokens were scheduled", f.seen, f.expected);
    case Rule::expectation_unused:
      return fmt::format("the scripted value {} was not used: {}", f.expected, f.detail);
  }
  return std::string(f.detail);
}

std::string cause(const Finding& finding) {
  const std::int32_t step = finding.cause.step;
  switch (finding.cause.kind) {
    case WriteKind::never:
      return {};
    case WriteKind::prefill:
      return fmt::format("written by the prefill of step {}", step);
    case WriteKind::decode:
      return fmt::format("written by the decode of step {}", step);
    case WriteKind::pre_copy:
      return fmt::format("written by the pre-copy of step {}", step);
    case WriteKind::post_copy:
      return fmt::format("written by the post-copy of step {}", step);
    case WriteKind::attention:
      return fmt::format("written by the attention layers of step {}", step);
  }
  return {};
}

}  // namespace hybridscope::finding_words
